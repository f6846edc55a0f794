import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { ApiCluster } from '../../testing/cluster/api-cluster.ts';
import { reportDefinition } from '../../testing/cluster/open-reports.ts';
import { recordingLogger, type LogEntry } from '../../testing/sidecar/recording-logger.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { until } from '../../testing/time/until.ts';
import { OpenReports } from './open-reports.ts';

const REPORTS = '/apis/openreports.io/v1alpha1/namespaces/shop/reports';
const POLICY_REPORTS = '/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports';
const START = '2026-12-01T12:00:00.000Z';
const SECONDS = Date.parse(START) / 1_000;

const observation = (name: string, status: Partial<ObservationStatus>): AgentObservation => ({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation' },
  metadata: { name, namespace: 'shop', uid: '6f1c' },
  spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
  status: { phase: 'Healthy', grade: 'B', score: 80, ...status },
});
const ISSUE = {
  severity: 'high',
  property: 'tools.undeclared.refund',
  description: 'Not declared.',
} as const;
const STATUS: Partial<ObservationStatus> = {
  issues: [{ ...ISSUE, recommendation: 'Declare it.' }],
  audit: {
    ...{ declared: 50, proved: 20, failed: ['SEC-LLM-10'] },
    suppressions: [
      { rule: 'OBS-03', reason: 'no logs', state: 'active', approvedBy: 'ann', expires: '2027-01-01' },
    ],
  },
  evidence: {
    ...{ percent: 50, shown: 1, declared: 2, reported: 0 },
    items: [
      { kind: 'model', name: 'gpt-4o', tier: 'observed', shownBy: 'usage in responses', lastSeen: START },
      { kind: 'tool', name: 'refund', tier: 'none' },
    ],
  },
};

let cluster: ApiCluster;
beforeAll(async () => {
  cluster = await ApiCluster.start();
  await cluster.namespaces('shop');
});
afterAll(() => cluster.close());

interface Found {
  metadata: { name: string; resourceVersion: string; labels: object; ownerReferences: object[] };
  source?: string;
  scope?: object;
  summary: object;
  results: { rule: string; result: string; timestamp: { seconds: number } }[];
}
const listed = async (path: string): Promise<Found[]> => (await cluster.get<{ items: Found[] }>(path)).items;

test('one report per agent follows its state, in the kind that is served', async () => {
  const clock = new ManualClock(START);
  const log: LogEntry[] = [];
  let agents = [observation('chat', STATUS), observation('idle', {})];
  const parts = {
    client: cluster.client,
    clock,
    logger: recordingLogger(log),
    allObservations: () => agents,
  };
  const stop = new AbortController();
  const run = new OpenReports({ ...parts, isEnabled: true }).run(stop.signal);
  let round = await clock.nextSleep();
  /** Resolves when the next round has ended. */
  const next = async (): Promise<void> => {
    round.wake();
    round = await clock.nextSleep();
  };
  // Neither kind is served.
  expect(log.map(([, , fields]) => fields)).toEqual([
    { problem: 'the API server serves neither openreports.io/v1alpha1 nor wgpolicyk8s.io/v1alpha2' },
  ]);

  await cluster.apply([reportDefinition('PolicyReport')]);
  await until(() => cluster.serves(POLICY_REPORTS));
  await next();
  expect((await listed(POLICY_REPORTS)).map(({ metadata, source }) => [metadata.name, source])).toEqual([
    ['agent-chat', undefined],
    ['agent-idle', undefined],
  ]);

  await cluster.apply([reportDefinition('Report')]);
  await until(() => cluster.serves(REPORTS));
  const now = SECONDS + 60;
  await next();
  const [chat] = await listed(REPORTS);
  const text = expect.any(String) as unknown;
  const about = { source: 'agent-compliance', timestamp: { seconds: now, nanos: 0 } };
  expect(chat).toMatchObject({
    metadata: {
      name: 'agent-chat',
      labels: { 'app.kubernetes.io/managed-by': 'agent-compliance' },
      ownerReferences: [{ kind: 'AgentObservation', name: 'chat', uid: '6f1c' }],
    },
    source: 'agent-compliance',
    scope: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat', namespace: 'shop' },
    summary: { pass: 1, fail: 2, warn: 1, error: 0, skip: 1 },
    results: [
      {
        ...about,
        rule: 'SEC-LLM-10',
        policy: 'owasp-llm-top10',
        result: 'fail',
        severity: 'high',
        scored: true,
      },
      {
        ...about,
        rule: 'OBS-03',
        result: 'skip',
        message: 'no logs',
        properties: { owner: 'ann', expires: '2027-01-01' },
      },
      {
        ...{
          ...about,
          rule: ISSUE.property,
          policy: 'gap',
          result: 'fail',
          severity: 'high',
          message: 'Not declared.',
        },
        properties: { resultID: `shop/chat/${ISSUE.property}`, points: '20', fix: 'Declare it.', grade: 'B' },
      },
      { ...about, rule: 'model.gpt-4o', policy: 'evidence', result: 'pass', message: 'usage in responses' },
      { ...about, rule: 'tool.refund', result: 'warn', scored: false, message: 'declared, not proved' },
    ].map((each) => ({ message: text, ...each })),
  });

  // Nothing has changed, so nothing is written.
  const version = chat?.metadata.resourceVersion;
  await next();
  expect((await listed(REPORTS))[0]?.metadata.resourceVersion).toBe(version);

  // Only the changed result has a new time. The report of an agent that is gone is deleted.
  agents = [observation('chat', { ...STATUS, issues: [] })];
  await next();
  const [changed, ...others] = await listed(REPORTS);
  expect(others).toEqual([]);
  expect(changed?.results.map(({ rule, timestamp }) => [rule, timestamp.seconds])).toEqual([
    ['SEC-LLM-10', now],
    ['OBS-03', now],
    ['model.gpt-4o', now],
    ['tool.refund', now],
  ]);
  agents = [observation('chat', { ...STATUS, phase: 'Unknown' })];
  await next();
  expect(
    (await listed(REPORTS))[0]?.results.filter(({ timestamp }) => timestamp.seconds > now),
  ).toMatchObject([
    { rule: 'Reporting', result: 'error' },
    { rule: ISSUE.property, result: 'fail' },
  ]);
  stop.abort();
  await run;

  // A new leader knows what is in the cluster.
  const before = await listed(REPORTS);
  const again = new AbortController();
  const second = new OpenReports({ ...parts, isEnabled: true }).run(again.signal);
  await clock.nextSleep();
  again.abort();
  await second;
  expect(await listed(REPORTS)).toEqual(before);
  expect(log).toHaveLength(1);
});

test('the API server rejects a report with another member', async () => {
  const response = await cluster.client.send({
    ...{ method: 'POST', path: REPORTS, query: { fieldValidation: 'Strict' } },
    body: {
      ...{ apiVersion: 'openreports.io/v1alpha1', kind: 'Report', metadata: { name: 'other' } },
      results: [{ policy: 'gap', description: 'x' }],
    },
  });
  expect(response).toMatchObject({ ok: false, message: expect.stringContaining('description') });
});
