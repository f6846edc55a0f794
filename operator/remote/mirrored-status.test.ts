import { describe, expect, test } from '@jest/globals';
import { MIRRORED_AGENT_ANNOTATION } from '../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { Phase } from '../../core/shapes/values.ts';
import { mirrorNames } from './mirror-names.ts';
import { mirroredStatus, unreachableStatus } from './mirrored-status.ts';
import type { RemoteAgent } from '../../core/shapes/agent-row.ts';

const AT = new Date('2026-03-01T10:00:00.400Z');

const agent = (overrides: Partial<RemoteAgent> = {}): RemoteAgent => ({
  agentId: 'agt_1',
  agentName: 'shop',
  namespace: 'platform-remote',
  runtime: 'docker',
  phase: 'Healthy',
  grade: 'A',
  score: 100,
  tokens: 7,
  lastSeen: '2026-03-01T09:59:50.000Z',
  ...overrides,
});

const observation = (overrides: Partial<AgentObservation['metadata']> = {}): AgentObservation => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'shop', namespace: 'platform-remote', ...overrides },
  spec: { source: 'remote' },
});

const LAST_SEEN = '2026-03-01T09:59:50.000Z';

const verdicts = (conditions: readonly Condition[] | undefined) =>
  Object.fromEntries((conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]));

test('copies the state of an agent from the list', () => {
  const { conditions: _, ...status } = mirroredStatus(observation({ generation: 1 }), agent(), AT);
  expect(status).toEqual({
    observedGeneration: 1,
    phase: 'Healthy',
    agentId: 'agt_1',
    runtime: 'docker',
    grade: 'A',
    score: 100,
    tokens: 7,
    lastChecked: '2026-03-01T09:59:50.000Z',
  });
});

test('marks the grade of a silent agent as old', () => {
  const silent = mirroredStatus(observation(), agent({ phase: 'Unknown' }), AT);
  const known = mirroredStatus(observation(), agent(), AT);
  const unreachable = unreachableStatus({ ...observation(), status: known }, AT);
  expect([known, silent, unreachable].map(({ oldGrade }) => oldGrade)).toEqual([
    undefined,
    'A (old)',
    'A (old)',
  ]);
});

test('omits values that were not reported', () => {
  const silent = agent({ phase: 'Pending', grade: null, score: null, tokens: null, lastSeen: null });
  const { conditions: _, ...status } = mirroredStatus(observation(), silent, AT);
  expect(status).toEqual({ phase: 'Pending', agentId: 'agt_1', runtime: 'docker' });
});

describe('the conditions', () => {
  const first = 'AwaitingFirstHeartbeat';
  test.each<
    [Phase, lastSeen: string | null, verdicts: [ready: string, reporting: string, compliant: string]]
  >([
    ['Healthy', LAST_SEEN, ['True Healthy', 'True HeartbeatReceived', 'Unknown Mirrored']],
    ['Degraded', LAST_SEEN, ['True Degraded', 'True HeartbeatReceived', 'Unknown Mirrored']],
    ['Unhealthy', LAST_SEEN, ['False Unhealthy', 'True HeartbeatReceived', 'Unknown Mirrored']],
    ['Unknown', LAST_SEEN, ['False Stale', 'False Stale', 'Unknown Stale']],
    ['Pending', LAST_SEEN, ['False NoHeartbeat', 'False NoHeartbeat', 'Unknown NoHeartbeat']],
    ['Unknown', null, ['False NeverReported', 'False NeverReported', 'Unknown NeverReported']],
    ['Pending', null, [`False ${first}`, `Unknown ${first}`, `Unknown ${first}`]],
  ])(
    'of an agent with the listed phase %s and heartbeat %s',
    (phase, lastSeen, [ready, reporting, compliant]) => {
      const { conditions } = mirroredStatus(observation(), agent({ phase, lastSeen }), AT);
      expect(verdicts(conditions)).toEqual({
        ...{ Ready: ready, Reporting: reporting, Compliant: compliant },
        AgentReachable: 'Unknown Mirrored',
        ModelReachable: 'Unknown Mirrored',
        PolicyLoaded: 'Unknown Mirrored',
      });
    },
  );

  test.each<[number | null, string | undefined, string]>([
    [74, undefined, 'False GradeTooLow'],
    [75, undefined, 'Unknown Mirrored'],
    [74, 'C', 'Unknown Mirrored'],
    [null, undefined, 'False GradeTooLow'],
  ])('Compliant with score %p and the required grade %p', (score, wanted, state) => {
    const annotations = wanted === undefined ? {} : { 'platform.io/compliant-grade': wanted };
    const { conditions } = mirroredStatus(observation({ annotations }), agent({ score }), AT);
    expect(verdicts(conditions)['Compliant']).toBe(state);
  });

  test('change lastTransitionTime only with their status', () => {
    const first = mirroredStatus(observation(), agent(), AT);
    const later = new Date(AT.getTime() + 60_000);
    const second = mirroredStatus({ ...observation(), status: first }, agent({ phase: 'Degraded' }), later);
    expect(second.conditions).toEqual(
      first.conditions!.map((each) => (each.type === 'Ready' ? { ...each, reason: 'Degraded' } : each)),
    );
  });
});

test('keeps the last known status as Unknown while the control plane is unreachable, without further changes', () => {
  const known = mirroredStatus(observation(), agent(), AT);
  const later = new Date(AT.getTime() + 121_000);
  const status = unreachableStatus({ ...observation(), status: known }, later);
  expect(status).toMatchObject({ phase: 'Unknown', grade: 'A', score: 100, tokens: 7, agentId: 'agt_1' });
  expect(verdicts(status.conditions)).toMatchObject({
    Ready: 'False ControlPlaneUnreachable',
    Reporting: 'False ControlPlaneUnreachable',
    Compliant: 'Unknown ControlPlaneUnreachable',
  });
  const evenLater = new Date(later.getTime() + 60_000);
  expect(unreachableStatus({ ...observation(), status }, evenLater)).toEqual(status);
});

test('omits the token usage of a new day while the control plane is unreachable', () => {
  const status = mirroredStatus(observation(), agent(), AT);
  const at = (time: string) => unreachableStatus({ ...observation(), status }, new Date(time));
  expect(at('2026-03-01T23:59:59.999Z')).toHaveProperty('tokens', 7);
  expect(at('2026-03-02T00:00:00.000Z')).not.toHaveProperty('tokens');
});

describe('the name of an observation', () => {
  const mirrored = (name: string, agentId: string): AgentObservation =>
    observation({ name, annotations: { [MIRRORED_AGENT_ANNOTATION]: agentId } });
  interface Case {
    agents: RemoteAgent[];
    known?: AgentObservation[];
    others?: string[];
    names: Record<string, unknown>;
  }
  const withHash: unknown = expect.stringMatching(/^shop-[0-9a-f]{8}$/);
  test.each<[string, Case]>([
    ["is the agent's name", { agents: [agent()], names: { agt_1: 'shop' } }],
    [
      'has a hash if an agent that is registered here uses the name',
      { agents: [agent()], others: ['shop'], names: { agt_1: withHash } },
    ],
    [
      'has a hash if agents of two namespaces have the same name',
      {
        agents: [agent(), agent({ agentId: 'agt_2', namespace: 'team' })],
        names: { agt_1: 'shop', agt_2: withHash },
      },
    ],
    [
      'is stable, independent of the list order',
      {
        agents: [agent({ agentId: 'agt_2' }), agent()],
        known: [mirrored('shop', 'agt_1')],
        names: { agt_1: 'shop', agt_2: withHash },
      },
    ],
    [
      'is reused for an agent that was registered again under the same name',
      {
        agents: [agent({ agentId: 'agt_2' })],
        known: [mirrored('shop', 'agt_1')],
        names: { agt_2: 'shop' },
      },
    ],
  ])('%s', (_name, { agents, known = [], others = [], names }) => {
    expect(Object.fromEntries(mirrorNames(agents, known, new Set(others)))).toEqual(names);
  });

  test('is a DNS label, even for a long agent name', () => {
    const long = agent({ agentName: 'a'.repeat(63) });
    const [name = ''] = mirrorNames([long], [], new Set([long.agentName])).values();
    expect(name).toMatch(/^a{54}-[0-9a-f]{8}$/);
  });
});
