import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { clockAt } from '../testing/time/fixed-date.ts';
import { GOOD_RESPONSES } from '../testing/http/hostile-responses.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';

const SPEC = {
  guardrails: { input: [{ type: 'pii-detector' }] },
  tools: [{ name: 'pay' }, { name: 'search' }],
  requires: { services: [{ name: 'db', address: '127.0.0.1:1' }] },
  evaluation: { datasets: [{ name: 'basic', path: 'basic.jsonl' }] },
};

let rig: SidecarRig;
beforeEach(async () => {
  rig = await startSidecarRig({
    manifest: manifestText(SPEC),
    agent: { '/health': 200, '/capabilities': 200 },
    env: { OPENAI_API_KEY: 'k' },
    clock: clockAt('2026-03-01T10:00:00.000Z'),
  });
});
afterEach(() => rig.close());

describe('the data source, decided on every request', () => {
  const sources = async (): Promise<string[]> =>
    Promise.all(
      ['/health/ready', '/explore', '/gap', '/usage'].map(
        async (path) => (await rig.report<{ source: string }>(path)).source,
      ),
    );

  test('any state + a valid HealthReport: agent-sdk; the four routes use live data', async () => {
    Object.assign(rig.agent.responses, GOOD_RESPONSES);
    expect(await sources()).toEqual(Array(4).fill('agent-sdk'));
    expect(await rig.report('/explore')).toMatchObject({
      tools: [
        { name: 'pay', registered: true },
        { name: 'search', registered: null },
      ],
      services: [{ name: 'db', reachable: null, latencyMs: null }],
    });
    expect(await rig.report('/health/ready')).toEqual({
      agentName: 'shop',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      source: 'agent-sdk',
      status: 'ready',
      summary: { passed: 2, failed: 0, warnings: 0, skipped: 0 },
      checks: [
        { id: 'tool:pay', category: 'tool', status: 'pass', severity: 'info' },
        {
          id: 'agent:upstream',
          category: 'service',
          status: 'pass',
          severity: 'warning',
          latencyMs: expect.any(Number),
        },
      ],
    });
    const { issues } = await rig.report<{ issues: { property: string; severity: string }[] }>('/gap');
    expect(issues.map(({ property, severity }) => `${property} ${severity}`)).toEqual([
      'model.apiKey high',
      'env:OPENAI_API_KEY high',
      'service:db high',
      'discoverable.search medium',
      'tool:search medium',
      'evaluated low',
    ]);
    expect(await rig.report('/usage')).toEqual({ ...GOOD_RESPONSES['/platform/usage'], costUsd: null });
  });

  test('any state + the agent has no such endpoint: manifest-static; usage falls back to the audit ring', async () => {
    expect(await sources()).toEqual(['manifest-static', 'manifest-static', 'manifest-static', 'audit-ring']);
  });

  test('any state + the probe fails: manifest-static', async () => {
    await rig.agent.stop();
    expect(await sources()).toEqual(['manifest-static', 'manifest-static', 'manifest-static', 'audit-ring']);
  });

  test.each<[string, string, string[]]>([
    ['pass', 'no issue', []],
    ['skip', 'high', ['high']],
    ['fail', 'critical', ['critical']],
  ])('model check %s: %s', async (status, _issue, severities) => {
    const report = GOOD_RESPONSES['/platform/health'];
    const checks = [{ id: 'model:openai/gpt-5', category: 'model', status, severity: 'error', latencyMs: 7 }];
    rig.agent.responses['/platform/health'] = { ...report, checks };
    const { issues } = await rig.report<{ issues: { property: string; severity: string }[] }>('/gap');
    expect(
      issues.filter(({ property }) => property === 'model.apiKey').map(({ severity }) => severity),
    ).toEqual(severities);
    const { model } = await rig.report<{ model: unknown }>('/explore');
    const reachable = { pass: true, skip: null, fail: false }[status];
    expect(model).toEqual({ provider: 'openai', id: 'gpt-5', reachable, latencyMs: 7 });
    const response = await rig.control('/health/ready');
    expect(response.status).toBe(status === 'fail' ? 503 : 200);
    expect(await response.json()).toMatchObject({ status: status === 'fail' ? 'not-ready' : 'ready' });
  });
});

describe('an invalid report', () => {
  const report = GOOD_RESPONSES['/platform/health'];
  const show = async (body: object) => {
    rig.agent.responses['/platform/health'] = body;
    const ready = await rig.report<{ source: string; note?: string }>('/health/ready');
    const gap = await rig.report<{ source: string; issues: { property: string; severity: string }[] }>(
      '/gap',
    );
    const found = gap.issues.find(({ property }) => property === 'reporter.invalid');
    return { sources: [ready.source, gap.source], note: ready.note, severity: found?.severity };
  };

  test.each<[object, string]>([
    [{ ...report, agentName: 'other' }, 'agentName must be shop'],
    [{ ...report, timestamp: '2026-03-01T09:57:59.999Z' }, 'timestamp must not be more than 120 s old'],
    [{ ...report, timestamp: '2026-03-01T10:01:00.001Z' }, 'timestamp must not be more than 60 s ahead'],
    [
      { ...report, checks: [{ id: 'tool:pay', status: 'maybe' }] },
      'checks[0].status must be one of pass, fail, skip',
    ],
    [{ status: 'healthy' }, 'agentName must be a string'],
  ])('%j causes an issue and a note, and the manifest is the data source', async (body, problem) => {
    expect(await show(body)).toEqual({
      sources: ['manifest-static', 'manifest-static'],
      note: `GET /platform/health on the agent did not return a valid report: ${problem}`,
      severity: 'high',
    });
    expect(await show(report!)).toEqual({ sources: ['agent-sdk', 'agent-sdk'] });
  });

  test('deducts 20 points', async () => {
    const score = async (body: object): Promise<number> => {
      rig.agent.responses['/platform/health'] = body;
      return (await rig.report<{ score: number }>('/gap')).score;
    };
    expect(await score({ ...report, timestamp: 'now' })).toBe(75);
  });

  test('is logged once, and again after a valid report', async () => {
    const lines = () =>
      rig.log.flatMap(([level, message]) => (message.startsWith('agent health report') ? [level] : []));
    for (const body of [{}, { ...report, agentName: 1 }, {}]) await show(body);
    expect(lines()).toEqual(['warn']);
    expect(rig.log).toContainEqual([
      'warn',
      'agent health report invalid',
      { field: 'agentName', reason: 'must be a string' },
    ]);
    await show(report!);
    await show({});
    expect(lines()).toEqual(['warn', 'info', 'warn']);
  });
});

test('an expired proof is loaded and listed as expired, and does not count', async () => {
  const path = join(rig.folder, 'proofs.json');
  const elapsed = {
    verifiedBy: 'ci',
    method: 'run',
    ruleId: 'EVAL-01',
    origin: 'local',
    verifiedAt: '2025-01-01T00:00:00.000Z',
    expiresAt: '2025-02-01T00:00:00.000Z',
  };
  await writeFile(path, JSON.stringify({ revision: 0, proofs: [elapsed] }));
  const other = await startSidecarRig({
    manifest: manifestText(SPEC),
    agent: { '/health': 200, '/capabilities': 200 },
    env: { PROOF_STORE_PATH: path },
  });
  const proofs = await other.report('/proof');
  const one = await other.report('/proof/rule/EVAL-01');
  const gap = await other.report('/gap');
  await other.close();
  expect([proofs, one]).toEqual([[{ ...elapsed, expired: true }], { ...elapsed, expired: true }]);
  expect(gap).toMatchObject({ score: 95, issues: [{ property: 'evaluated' }] });
});
