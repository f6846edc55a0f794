import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import type { EgressSummary } from '../shapes/egress.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { mergeHeartbeat } from '../observation/merge-heartbeat.ts';
import type { Condition, ConditionType } from '../shapes/condition.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { statusOf } from '../observation/status-of.ts';
import { COVERAGE_KINDS, type CoverageGap, type CoverageKind } from '../shapes/coverage.ts';
import { coverageOf } from './coverage.ts';
import { excerptOf, withObserved, type AgentExcerpt, type ObservedAgent } from './excerpt.ts';
import { COVERAGE_ROWS } from './kinds.ts';

const START = '2026-03-01T10:00:00.000Z';
const at = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000);
const MOVED = '2026-03-01T09:30:00Z';

const SEEN: Partial<Heartbeat> = {
  policyMode: 'enforce',
  policyState: 'answered',
  outcomes: { allow: 90, deny: 10, failOpen: 0, notEvaluated: 0 },
  egress: egressOf(),
};

function egressOf(overrides: Partial<EgressSummary> = {}): EgressSummary {
  return {
    ...{ lanes: ['openai'], calls: 3, models: ['gpt-4o'], tools: [], undeclared: 0, undeclaredNames: [] },
    ...{ neverSeen: 0, misreported: 0, unseenEgress: 0, unexplainedOpens: 2, ...overrides },
  };
}

/** The status after one heartbeat of an agent of which everything is seen, except `overrides`. */
const reported = (overrides: Partial<Heartbeat> = {}): ObservationStatus =>
  mergeHeartbeat(undefined, aHeartbeat({ ...SEEN, ...overrides }), { instance: 'shop-1' }, at(0));

function withCondition(
  type: ConditionType,
  condition: Partial<Condition>,
  status = reported(),
): ObservationStatus {
  const others = (status.conditions ?? []).filter((each) => each.type !== type);
  const added = { type, status: 'False' as const, reason: '', message: '', lastTransitionTime: MOVED };
  return { ...status, conditions: [...others, { ...added, ...condition }] };
}

const shop = (status: ObservationStatus, source: ObservedAgent['source'] = 'sidecar'): AgentExcerpt =>
  excerptOf({ namespace: 'team', name: 'shop', source, status });

const gapsOf = (agent: AgentExcerpt, seconds = 0): CoverageGap[] =>
  coverageOf([agent], { at: at(seconds), limit: 10 }).gaps;

const kindsOf = (agent: AgentExcerpt, seconds = 0): CoverageKind[] =>
  gapsOf(agent, seconds).map(({ kind }) => kind);

const outcomes = (counts: Partial<NonNullable<Heartbeat['outcomes']>>): Partial<Heartbeat> => ({
  outcomes: { allow: 90, deny: 10, failOpen: 0, notEvaluated: 0, ...counts },
});

const item = (kind: 'tool' | 'service', name: string, tier: 'none' | 'probed') => ({ kind, name, tier });
const BEFORE = '2026-03-01T09:00:00.000Z';
const NOT_EVALUATED = '300 of 400 requests (75 %) since 2026-03-01T09:00:00.000Z were not evaluated.';

interface Case {
  agent: AgentExcerpt;
  seconds?: number;
  gap: Pick<CoverageGap, 'kind' | 'reason' | 'remedy' | 'since'>;
}

const CASES: Readonly<Record<string, Case>> = {
  'an agent without a report of its own': {
    agent: shop(
      reported({
        source: 'manifest-static',
        evidence: {
          ...{ shown: 1, declared: 5, reported: 0 },
          items: [
            item('service', 'orders', 'probed'),
            item('tool', 'search', 'none'),
            item('tool', 'pay', 'none'),
            item('service', 'db', 'none'),
            item('service', 'cache', 'none'),
          ],
        },
      }),
    ),
    gap: {
      kind: 'no-reporter',
      reason:
        'GET /platform/health on shop returns no report, so only the checks from outside are known. 4 of 5 declared items have no evidence: tool search, tool pay, service db and 1 more.',
      remedy: 'Add the reporter to shop, or serve GET /platform/health in the agent (docs/guide/agent.md).',
      since: null,
    },
  },
  'an agent with an invalid report': {
    agent: shop(
      reported({
        source: 'manifest-static',
        gap: {
          score: 80,
          grade: 'B',
          source: 'manifest-static',
          issues: [
            {
              severity: 'high',
              property: 'reporter.invalid',
              description: 'GET /platform/health did not return a valid report: status must be a string.',
              recommendation: 'Return the HealthReport of the reporter.',
            },
          ],
        },
      }),
    ),
    gap: {
      kind: 'no-reporter',
      reason: 'GET /platform/health did not return a valid report: status must be a string.',
      remedy: 'Return the HealthReport of the reporter.',
      since: null,
    },
  },
  'a Service that bypasses the sidecar': {
    agent: shop(
      withCondition('Routed', {
        reason: 'ServiceBypassesSidecar',
        message: 'traffic bypasses the sidecar: Service shop, port 80',
      }),
    ),
    gap: {
      kind: 'bypassed-service',
      reason: 'Traffic bypasses the sidecar: Service shop, port 80.',
      remedy:
        "Set the targetPort of the Service to the name of the agent's port, or to 4000. The condition Routed shows the result: kubectl describe agentobservation shop -n team",
      since: MOVED,
    },
  },
  'a sidecar whose port is taken': {
    agent: shop(
      withCondition('Routed', { reason: 'PortTaken', message: 'the sidecar of pod shop-1 could not listen' }),
    ),
    gap: {
      kind: 'bypassed-service',
      reason: 'The sidecar of pod shop-1 could not listen.',
      remedy:
        'Configure another port for this process, and restart the workload. The condition Routed shows the result: kubectl describe agentobservation shop -n team',
      since: MOVED,
    },
  },
  'responses without behavioral headers': {
    agent: shop(reported(outcomes({ notEvaluated: 300 }))),
    gap: {
      kind: 'not-evaluated',
      reason: `${NOT_EVALUATED} Responses without a behavioral header are not evaluated.`,
      remedy:
        'Report the behavior of shop in each response: X-Platform-Guardrails-Invoked, X-Platform-Tools-Called or X-Platform-User-Confirmed. The reporter sets these headers.',
      since: BEFORE,
    },
  },
  'the policy mode off in a cluster': {
    agent: shop(reported({ ...outcomes({ notEvaluated: 300 }), policyMode: 'off' })),
    gap: {
      kind: 'not-evaluated',
      reason: `${NOT_EVALUATED} The policy mode is off.`,
      remedy: 'Set the annotation platform.io/policy-proxy-mode of the pods of shop to "track" or "enforce".',
      since: BEFORE,
    },
  },
  'the policy mode off outside a cluster': {
    agent: shop(reported({ ...outcomes({ notEvaluated: 300 }), policyMode: 'off' }), 'remote'),
    gap: {
      kind: 'not-evaluated',
      reason: `${NOT_EVALUATED} The policy mode is off.`,
      remedy: 'Set POLICY_PROXY_MODE of the sidecar of shop to track or enforce.',
      since: BEFORE,
    },
  },
  'an unreachable engine that failed open': {
    agent: shop(reported(outcomes({ failOpen: 1 }))),
    gap: {
      kind: 'failed-open',
      reason:
        '1 of 101 requests (1 %) since 2026-03-01T09:00:00.000Z passed because the policy engine did not respond.',
      remedy:
        'Check that the policy engine of shop runs and that its sidecar reaches it (POLICY_URL, POLICY_TIMEOUT_MS). The engine builtin runs inside the sidecar and cannot be unreachable.',
      since: BEFORE,
    },
  },
  'calls on lanes that failed open': {
    agent: shop(reported({ egress: egressOf({ failedOpen: 2 }) })),
    gap: {
      kind: 'failed-open',
      reason: '2 calls on egress lanes passed because the policy engine could not evaluate them.',
      remedy:
        'Check that the policy engine of shop runs and that its sidecar reaches it (POLICY_URL, POLICY_TIMEOUT_MS). The engine builtin runs inside the sidecar and cannot be unreachable. With the annotation platform.io/egress-fail-mode: "closed" (EGRESS_FAIL_MODE), lanes deny such calls.',
      since: BEFORE,
    },
  },
  'an engine without the rules': {
    agent: shop(reported({ policyState: 'not-loaded' })),
    gap: {
      kind: 'no-policy-rules',
      reason: "The policy engine has not loaded this agent's rules.",
      remedy:
        'Check the logs of the sidecar and of its policy engine. If the engine is not part of the pod, load the rules of shop again with platform generate-policy.',
      since: '2026-03-01T10:00:00Z',
    },
  },
  'no engine in a cluster': {
    agent: shop(reported({ policyState: 'none' })),
    gap: {
      kind: 'no-policy-rules',
      reason: 'No policy engine is configured.',
      remedy: 'Set the chart value policy.engine to builtin, and restart the workload of shop.',
      since: '2026-03-01T10:00:00Z',
    },
  },
  'no engine outside a cluster': {
    agent: shop(reported({ policyState: 'none' }), 'remote'),
    gap: {
      kind: 'no-policy-rules',
      reason: 'No policy engine is configured.',
      remedy: 'Set POLICY_ENGINE=builtin for the sidecar of shop.',
      since: '2026-03-01T10:00:00Z',
    },
  },
  'an unreachable engine': {
    agent: shop(reported({ policyState: 'unreachable' })),
    gap: {
      kind: 'no-policy-rules',
      reason: 'The policy engine is unreachable.',
      remedy:
        'Check that the policy engine of shop runs and that its sidecar reaches it (POLICY_URL, POLICY_TIMEOUT_MS).',
      since: '2026-03-01T10:00:00Z',
    },
  },
  'a sender that does not report the engine': {
    agent: shop(reported({ policyState: null }), 'remote'),
    gap: {
      kind: 'no-policy-rules',
      reason: 'At least one report does not contain the state of the policy engine.',
      remedy:
        'Run shop behind a sidecar with a policy engine, or update its sidecar. Reporters and sidecars of 0.1.0 do not send the state of an engine.',
      since: '2026-03-01T10:00:00Z',
    },
  },
  'pods without a sidecar': {
    agent: shop(
      withCondition(
        'Injected',
        { reason: 'SidecarMissing', message: '2 of 3 pods run without the sidecar' },
        { ...reported(), drift: [{ reason: 'sidecar-missing', pods: 2, example: 'shop-a' }] },
      ),
    ),
    gap: {
      kind: 'no-sidecar',
      reason:
        '2 pods without a sidecar, such as shop-a: the pod opts in but has no sidecar: it was admitted while the injector was unavailable or not yet installed.',
      remedy: 'Restart the workload of shop in team, for example with kubectl rollout restart.',
      since: MOVED,
    },
  },
  'pods that do not opt in': {
    agent: shop({ ...reported(), drift: [{ reason: 'not-opted-in', pods: 1, example: 'shop-b' }] }),
    gap: {
      kind: 'no-sidecar',
      reason:
        '1 pod without a sidecar, such as shop-b: the pod has the agent label but neither a sidecar nor platform.io/inject: "true": the injector admits it unchanged.',
      remedy:
        'Set the annotation platform.io/inject: "true" on the pods of shop, or remove their label platform.io/agent.',
      since: null,
    },
  },
  'pods without a sidecar, of which only the condition is known': {
    agent: shop(
      withCondition('Injected', { reason: 'SidecarMissing', message: '1 of 1 pods run without the sidecar' }),
    ),
    gap: {
      kind: 'no-sidecar',
      reason: '1 of 1 pods run without the sidecar.',
      remedy: 'Restart the workload of shop in team, for example with kubectl rollout restart.',
      since: MOVED,
    },
  },
  'an agent without lanes and census': {
    agent: shop(reported({ egress: null })),
    gap: {
      kind: 'no-lanes',
      reason: 'The sidecar of shop has no egress lane. It has no census either.',
      remedy:
        'Set the annotation platform.io/egress-lanes of the pods of shop to the vendors of its models, for example "openai".',
      since: null,
    },
  },
  'a registered agent with a census only': {
    agent: shop(reported({ egress: egressOf({ lanes: [] }) }), 'remote'),
    gap: {
      kind: 'no-lanes',
      reason: 'The sidecar of shop has no egress lane. Its census sees addresses only.',
      remedy:
        'Start shop with platform run, or set EGRESS_LANES of its sidecar and the base URLs of the agent.',
      since: null,
    },
  },
  'connections that nothing explains': {
    agent: shop(reported({ egress: egressOf({ unseenEgress: 1 }) })),
    gap: {
      kind: 'unseen-egress',
      reason:
        'The agent shop has connections to 1 address that nothing explains. 2 further connections ended before the address was seen.',
      remedy: 'Declare the hosts in spec.egress.hosts, or send the calls through an egress lane.',
      since: null,
    },
  },
  'connections that an issue names': {
    agent: shop({
      ...reported({ egress: egressOf({ unseenEgress: 2, unexplainedOpens: 0 }) }),
      issues: [
        {
          ...{ severity: 'low', property: 'egress.unseen' },
          ...{ description: 'connections: 192.0.2.1:443, [2001:db8::1]:443', recommendation: 'declare them' },
        },
      ],
    }),
    gap: {
      kind: 'unseen-egress',
      reason: 'Connections: 192.0.2.1:443, [2001:db8::1]:443.',
      remedy: 'Declare them.',
      since: null,
    },
  },
  'a silent workload, whose writer of conditions is unavailable': {
    agent: shop(reported()),
    seconds: 121,
    gap: {
      kind: 'silent',
      reason: `No heartbeat of shop since ${START}.`,
      remedy:
        'Check the pods of the agent and the logs of their sidecars; the control plane may be unreachable from there. The logs: kubectl logs -n team -l platform.io/agent=shop -c platform-sidecar',
      since: START,
    },
  },
  'a silent registered agent': {
    agent: shop(statusOf(reported(), at(121)), 'remote'),
    seconds: 121,
    gap: {
      kind: 'silent',
      reason: `No heartbeat of shop since ${START}.`,
      remedy:
        'Check that shop runs, reaches this control plane and has a valid key. platform register --name shop issues a new key. If shop does not exist any more, remove it: DELETE /api/v1/agents/shop?namespace=team',
      since: START,
    },
  },
  'an agent that was registered and never reported': {
    agent: shop(statusOf(undefined, at(0)), 'remote'),
    seconds: 121,
    gap: {
      kind: 'silent',
      reason: 'No heartbeat of shop has been received yet.',
      remedy:
        'Start shop with the address of this control plane in PLATFORM_URL and its key in PLATFORM_KEY. platform register --name shop issues a new key.',
      since: '2026-03-01T10:00:00Z',
    },
  },
  'an agent that never reported, since it was registered': {
    agent: shop(statusOf(statusOf(undefined, at(0), { hasStarted: true }), at(121)), 'remote'),
    gap: {
      kind: 'silent',
      reason: 'No heartbeat of shop has been received yet.',
      remedy:
        'Start shop with the address of this control plane in PLATFORM_URL and its key in PLATFORM_KEY. platform register --name shop issues a new key.',
      since: START,
    },
  },
  'an agent without any status': {
    agent: shop({ phase: 'Pending' }, 'remote'),
    gap: {
      kind: 'silent',
      reason: 'No heartbeat of shop has been received yet.',
      remedy:
        'Start shop with the address of this control plane in PLATFORM_URL and its key in PLATFORM_KEY. platform register --name shop issues a new key.',
      since: null,
    },
  },
  'a mirrored agent whose control plane does not respond': {
    agent: shop(
      withCondition(
        'Reporting',
        { reason: 'ControlPlaneUnreachable', message: "the agent's control plane does not respond" },
        withCondition(
          'PolicyLoaded',
          { status: 'Unknown', reason: 'Mirrored' },
          { phase: 'Unknown', lastChecked: BEFORE },
        ),
      ),
      'remote',
    ),
    gap: {
      kind: 'silent',
      reason: "The agent's control plane does not respond.",
      remedy:
        'shop reports to another control plane: look for the cause there, and check that the operator reaches it (chart value remote.controlPlane).',
      since: BEFORE,
    },
  },
};

test.each(Object.entries(CASES))('%s is the only gap', (_title, { agent, seconds, gap }) => {
  expect(gapsOf(agent, seconds)).toEqual([{ agentName: 'shop', namespace: 'team', ...gap }]);
});

test('every kind has a case, a title and an explanation', () => {
  expect(COVERAGE_ROWS.map(({ kind }) => kind)).toEqual(COVERAGE_KINDS);
  expect(new Set(Object.values(CASES).map(({ gap }) => gap.kind))).toEqual(new Set(COVERAGE_KINDS));
  for (const { title, explanation } of COVERAGE_ROWS)
    expect([title, explanation]).toEqual([
      expect.stringMatching(/^[A-Z].*[^.]$/),
      expect.stringMatching(/^[A-Z].*\.$/),
    ]);
});

describe('not a gap', () => {
  test.each<[string, AgentExcerpt, number]>([
    ['an agent of which everything is seen', shop(reported()), 0],
    ['the same agent at the end of its stale time', shop(reported()), 120],
    [
      'an unknown route',
      shop(withCondition('Routed', { status: 'Unknown', reason: 'NoService', message: 'no Service' })),
      0,
    ],
    [
      'a sidecar of another version',
      shop({ ...reported(), drift: [{ reason: 'version-outdated', pods: 1, example: 'a' }] }),
      0,
    ],
    ['an agent without requests', shop(reported({ outcomes: null })), 0],
    [
      'a workload that is scaled to zero',
      shop(statusOf(reported(), at(600), { activity: 'scaled-to-zero' })),
      600,
    ],
    ['a workload between two runs', shop(statusOf(undefined, at(0), { activity: 'idle' })), 600],
    ['an agent that was registered just now', shop(statusOf(undefined, at(0)), 'remote'), 120],
    [
      'an agent whose pods were replaced just now',
      shop(statusOf({ ...reported(), instances: [] }, at(60))),
      60,
    ],
    [
      'a mirrored agent that reports',
      shop(
        withCondition(
          'PolicyLoaded',
          { status: 'Unknown', reason: 'Mirrored' },
          { phase: 'Healthy', lastChecked: START, conditions: [] },
        ),
        'remote',
      ),
      600,
    ],
  ])('%s', (_title, agent, seconds) => {
    expect(kindsOf(agent, seconds)).toEqual([]);
  });
});

test('the causes of requests without a decision are the mode, a missing engine, and missing rules, in this order', () => {
  const reasonOf = (overrides: Partial<Heartbeat>) =>
    gapsOf(shop(reported({ ...outcomes({ notEvaluated: 1 }), ...overrides })))[0]?.reason.split('. ')[1];
  expect([
    reasonOf({ policyMode: 'off', policyState: 'none' }),
    reasonOf({ policyState: 'none' }),
    reasonOf({ policyState: 'not-loaded' }),
  ]).toEqual([
    'The policy mode is off.',
    'No policy engine is configured.',
    'The policy engine has not loaded the rules of the agent.',
  ]);
});

test('an engine that is unreachable now is named in addition to the requests that passed', () => {
  const unreachable = shop(reported({ ...outcomes({ failOpen: 3 }), policyState: 'unreachable' }));
  const [first, second] = gapsOf(unreachable);
  expect(first).toMatchObject({
    kind: 'failed-open',
    reason: expect.stringMatching(/The engine is unreachable now\.$/),
  });
  expect(second).toMatchObject({ kind: 'no-policy-rules' });
});

test('a small share of requests is not shown as 0 %, and an incomplete share not as 100 %', () => {
  const reasonOf = (notEvaluated: number, allow: number) =>
    gapsOf(shop(reported(outcomes({ notEvaluated, allow, deny: 0 }))))[0]?.reason;
  expect(reasonOf(1, 9_999)).toContain('1 of 10000 requests (less than 1 %)');
  expect(reasonOf(9_999, 1)).toContain('9999 of 10000 requests (more than 99 %)');
  expect(reasonOf(1, 0)).toContain('1 of 1 request (100 %)');
});

test('a silent agent is listed only as silent, except for what the operator observes now', () => {
  const unseen = reported({
    ...outcomes({ failOpen: 5, notEvaluated: 5 }),
    source: 'manifest-static',
    policyState: 'none',
  });
  expect(kindsOf(shop(unseen))).toEqual(['no-reporter', 'not-evaluated', 'failed-open', 'no-policy-rules']);
  expect(kindsOf(shop(statusOf(unseen, at(600))), 600)).toEqual(['silent']);
  const bypassed = withCondition('Routed', { message: 'bypassed' }, statusOf(unseen, at(600)));
  expect(kindsOf(shop(bypassed), 600)).toEqual(['bypassed-service', 'silent']);
});

test('one live instance is enough for an agent not to be silent', () => {
  const two = mergeHeartbeat(reported(), aHeartbeat(SEEN), { instance: 'shop-2' }, at(100));
  expect(kindsOf(shop(two), 200)).toEqual([]);
  expect(kindsOf(shop(two), 221)).toEqual(['silent']);
});

test('the report counts all agents, lists at most `limit` gaps of each kind, and counts those that it does not list', () => {
  const named = (name: string, status: ObservationStatus) =>
    excerptOf({ namespace: 'team', name, source: 'sidecar', status });
  const agents = [
    named('a', reported({ source: 'manifest-static' })),
    named('b', reported()),
    named('c', reported({ source: 'manifest-static', policyState: 'none' })),
    named('d', reported({ source: 'manifest-static' })),
  ];
  const { generatedAt, agents: count, gaps, kinds } = coverageOf(agents, { at: at(1), limit: 2 });
  expect([generatedAt, count]).toEqual(['2026-03-01T10:00:01.000Z', 4]);
  expect(gaps.map(({ kind, agentName }) => `${kind} ${agentName}`)).toEqual([
    'no-reporter a',
    'no-reporter c',
    'no-policy-rules c',
  ]);
  expect(Object.fromEntries(kinds.map(({ kind, count: of }) => [kind, of]))).toEqual({
    'no-reporter': 3,
    'bypassed-service': 0,
    'not-evaluated': 0,
    'failed-open': 0,
    'no-policy-rules': 1,
    'no-sidecar': 0,
    'no-lanes': 0,
    'unseen-egress': 0,
    silent: 0,
  });
});

test('an excerpt is small, also of the largest status', () => {
  const text = 'x'.repeat(500);
  const many = Array.from({ length: 100 }, (_, index) => `item-${index}`);
  const status = reported({
    evidence: {
      ...{ shown: 0, declared: 100, reported: 0 },
      items: many.map((name) => ({ kind: 'tool', name, tier: 'none' })),
    },
    gap: {
      score: 0,
      grade: 'F',
      source: 'agent-sdk',
      issues: many.map((name) => ({
        severity: 'low',
        property: `tool:${name}`,
        description: text,
        recommendation: text,
      })),
    },
  });
  expect(JSON.stringify(status).length).toBeGreaterThan(50_000);
  expect(JSON.stringify(shop(status)).length).toBeLessThan(1_500);
});

describe('the agents of a database with their AgentObservations', () => {
  const named = (namespace: string, name: string, status: ObservationStatus) =>
    excerptOf({ namespace, name, source: 'sidecar', status });
  const bypassed = withCondition('Routed', { reason: 'ServiceBypassesSidecar', message: 'bypassed' });

  test('are ordered, and contain agents that only the cluster knows', () => {
    const merged = withObserved(
      [named('a', 'x', reported()), named('a-b', 'a', reported())],
      [named('a', 'w', { phase: 'Pending' }), named('a', 'x', reported())],
    );
    expect(merged.map(({ namespace, agentName }) => `${namespace}/${agentName}`)).toEqual([
      'a/w',
      'a/x',
      'a-b/a',
    ]);
  });

  test('have the conditions and the drift of the operator, and the reports of the database', () => {
    const drift = [{ reason: 'sidecar-missing' as const, pods: 1, example: 'shop-1' }];
    const observed = { ...bypassed, drift };
    const merged = withObserved(
      [named('team', 'shop', reported({ policyState: 'none' }))],
      [named('team', 'shop', observed)],
    );
    expect(kindsOf(merged[0]!)).toEqual(['bypassed-service', 'no-policy-rules', 'no-sidecar']);
  });

  test('are not silent if the operator knows that the workload is idle', () => {
    const silent = statusOf(reported(), at(600));
    const idle = statusOf(reported(), at(600), { activity: 'scaled-to-zero' });
    expect(kindsOf(named('team', 'shop', silent), 600)).toEqual(['silent']);
    const merged = withObserved([named('team', 'shop', silent)], [named('team', 'shop', idle)]);
    expect(kindsOf(merged[0]!, 600)).toEqual([]);
  });
});
