import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { CoverageReport } from '../../core/shapes/coverage.ts';
import type { RuleState } from '../../core/shapes/rule-state.ts';
import { RULE_TEXTS } from '../../core/fleet/rule-texts.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { statusOf } from '../../core/observation/status-of.ts';
import { aStatus, RIG_START, startFleetRig, type FleetRig } from '../../testing/fleet/fleet-rig.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';

const HASH = 'f'.repeat(64);
const SECRETS: Partial<ObservationStatus> = {
  tokenHashes: [{ hash: HASH, expiresAt: '2026-04-01T00:00:00.000Z' }],
  proofTombstones: [{ ruleId: 'MEM-01', origin: 'local', at: RIG_START }],
  proofRevision: 3,
};
const SILENT_S = 121;

let rig: FleetRig;

beforeEach(async () => {
  rig = await startFleetRig({
    shop: {
      ...aStatus({
        gap: {
          score: 80,
          grade: 'B',
          source: 'agent-sdk',
          issues: [{ severity: 'high', property: 'env:KEY', description: 'd', recommendation: 'r' }],
        },
      }),
      ...SECRETS,
    },
    chat: aStatus({
      source: 'manifest-static',
      audit: {
        ...{ declared: 90, proved: 40, failed: ['MODEL-01'] },
        suppressions: [{ rule: 'MODEL-02', reason: 'pinned by the gateway', state: 'active' }],
      },
    }),
  });
});
afterEach(() => rig.close());

const json = async <T>(path: string): Promise<T> => {
  const response = await rig.get(path);
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
};

describe('the agent', () => {
  test('has its whole status, without hashes of keys and records of removed proofs', async () => {
    const response = await rig.get('/agents/shop');
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).not.toMatch(new RegExp(`${HASH}|tokenHashes|proofTombstones`));
    const [shop] = await rig.store.findByName('shop', rig.clock.now());
    const { tokenHashes: _keys, proofTombstones: _removed, ...status } = shop!.status;
    expect(status).toMatchObject({ proofRevision: 3, phase: 'Healthy', conditions: expect.any(Array) });
    expect(JSON.parse(text)).toEqual({
      agentId: shop!.agentId,
      agentName: 'shop',
      namespace: 'team',
      runtime: 'k8s',
      source: 'sidecar',
      lastSeen: RIG_START,
      status: JSON.parse(JSON.stringify(status)),
    });
  });

  test('is stale in the list if no instance reports', async () => {
    const staleOf = async () =>
      (await json<AgentRow[]>('/agents')).map(({ agentName, grade, stale }) => [agentName, grade, stale]);
    expect(await staleOf()).toEqual([
      ['chat', 'A', false],
      ['shop', 'B', false],
    ]);
    await rig.put('chat', statusOf(aStatus(), new Date(Date.parse(RIG_START) + 121_000)));
    expect(await staleOf()).toEqual([
      ['chat', 'A', true],
      ['shop', 'B', false],
    ]);
  });

  test('agrees with its row of the list', async () => {
    const rows = await json<AgentRow[]>('/agents');
    const { agentId, runtime, source, lastSeen } = rows.find(({ agentName }) => agentName === 'chat')!;
    expect(await json('/agents/chat?namespace=team')).toMatchObject({ agentId, runtime, source, lastSeen });
  });

  test.each([
    ['/agents/unknown', 404],
    ['/agents/shop?namespace=other', 404],
    ['/agents/shop?namespace=Not%20a%20name', 400],
    ['/agents/-shop', 404],
  ])('%s returns %i', async (path, status) => {
    const response = await rig.get(path);
    expect([response.status, await response.json()]).toMatchObject([status, { status }]);
  });
});

describe('the coverage', () => {
  const countsOf = ({ kinds }: CoverageReport) =>
    Object.fromEntries(kinds.flatMap(({ kind, count }) => (count === 0 ? [] : [[kind, count]])));

  test('lists the gaps of all agents, and every kind', async () => {
    const report = await json<CoverageReport>('/coverage');
    expect(report).toMatchObject({ generatedAt: RIG_START, agents: 2 });
    expect(report.gaps).toEqual([
      {
        kind: 'no-reporter',
        agentName: 'chat',
        namespace: 'team',
        reason: expect.stringContaining('GET /platform/health on chat'),
        remedy: expect.stringContaining('Add the reporter to chat'),
        since: null,
      },
    ]);
    expect(report.kinds).toHaveLength(9);
    expect(countsOf(report)).toEqual({ 'no-reporter': 1 });
  });

  test('follows changes, and the time alone', async () => {
    await json('/coverage');
    await rig.put('chat', aStatus());
    await rig.put('shop', aStatus({ policyState: 'none' }));
    await rig.clock.pass(2_000);
    expect(countsOf(await json('/coverage'))).toEqual({ 'no-policy-rules': 1 });
    await rig.clock.pass(SILENT_S * 1_000, 10_000);
    expect(countsOf(await json('/coverage'))).toEqual({ silent: 2 });
  });

  test('can be limited to a namespace and to a number of gaps', async () => {
    expect(await json('/coverage?namespace=other')).toMatchObject({ agents: 0, gaps: [] });
    await rig.put('shop', aStatus({ source: 'manifest-static' }));
    await rig.clock.pass(2_000);
    const report = await json<CoverageReport>('/coverage?namespace=team&limit=1');
    expect([report.agents, report.gaps.length, countsOf(report)]).toEqual([2, 1, { 'no-reporter': 2 }]);
  });

  test.each(['limit=0', 'limit=10001', 'limit=x', 'namespace=A', 'namespace=a&namespace=b'])(
    'with %s returns 400 and names the parameter',
    async (query) => {
      const response = await rig.get(`/coverage?${query}`);
      const path = query.split('=')[0];
      expect([response.status, await response.json()]).toMatchObject([400, { errors: [{ path }] }]);
    },
  );
});

describe('the rules', () => {
  test('are all rules, with the agents that fail and suppress them', async () => {
    const rules = await json<RuleState[]>('/rules');
    expect(rules.map(({ id }) => id)).toEqual(RULE_TEXTS.map(({ id }) => id));
    const concerned = rules.filter((rule) => rule.failingCount + rule.suppressedCount > 0);
    expect(concerned).toMatchObject([
      { id: 'env:<name>', kind: 'gap', failing: [{ agentName: 'shop', namespace: 'team' }], failingCount: 1 },
      { id: 'MODEL-01', kind: 'compliance', failing: [{ agentName: 'chat', namespace: 'team' }] },
      {
        id: 'MODEL-02',
        failingCount: 0,
        suppressed: [
          {
            ...{ agentName: 'chat', namespace: 'team', reason: 'pinned by the gateway' },
            ...{ approvedBy: null, expires: null, state: 'active' },
          },
        ],
      },
    ]);
  });

  test('follow changes', async () => {
    await json('/rules');
    await rig.remove('shop');
    await rig.clock.pass(2_000);
    const rules = await json<RuleState[]>('/rules');
    expect(rules.find(({ id }) => id === 'env:<name>')?.failing).toEqual([]);
  });
});
