import { describe, expect, test } from '@jest/globals';
import type { CheckStatus } from '../facts/check.ts';
import type { Check } from '../shapes/health.ts';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import type { Issue } from '../shapes/gap.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';
import type { ConditionType } from '../shapes/condition.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { phaseOf, staleLimitMs } from './phase.ts';
import { statusOf, withoutGone, type ObservationContext } from './status-of.ts';
import { coalescingWindowMs, isUrgent, writeDelayMs } from './write-due.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const at = (seconds: number): Date => new Date(START + seconds * 1000);

const reported = (overrides: Partial<Heartbeat> = {}, context: ObservationContext = {}): ObservationStatus =>
  mergeHeartbeat(
    undefined,
    aHeartbeat({ sentAt: null, totals: { tokensToday: 5 }, ...overrides }),
    { instance: 'a', ...context },
    at(0),
  );

const stateOf = (status: ObservationStatus, type: ConditionType): string => {
  const found = status.conditions?.find((each) => each.type === type);
  return `${found?.status} ${found?.reason}`;
};

const checks = (...pairs: [string, CheckStatus][]): Partial<Heartbeat> => ({
  health: {
    ...aHeartbeat().health,
    checks: pairs.map(([id, status]): Check => ({
      id,
      status,
      category: id.startsWith('model') ? 'model' : 'service',
      severity: 'warning',
    })),
  },
});

const gap = (score: number, ...severities: Issue['severity'][]): Partial<Heartbeat> => ({
  gap: {
    score,
    grade: 'A',
    source: 'agent-sdk',
    issues: severities.map((severity) => ({
      severity,
      property: 'p',
      description: 'd',
      recommendation: 'r',
    })),
  },
});

describe('the phase', () => {
  test.each([
    ['healthy', 'Healthy'],
    ['ready', 'Healthy'],
    ['degraded', 'Degraded'],
    ['unhealthy', 'Unhealthy'],
    ['not-ready', 'Unhealthy'],
  ] as const)('for the status %s is %s', (status, phase) => {
    expect(phaseOf(status)).toBe(phase);
  });

  test.each([
    [10, 120_000],
    [30, 120_000],
    [40, 120_000],
    [60, 180_000],
    [3600, 10_800_000],
  ])('with an interval of %i s is stale after %i ms', (interval, limit) => {
    expect(staleLimitMs(interval)).toBe(limit);
  });
});

describe('a silent agent', () => {
  const brief = (status: ObservationStatus): string[] => [
    `${status.phase} ${status.grade} ${status.score}`,
    stateOf(status, 'Reporting'),
    stateOf(status, 'Ready'),
    stateOf(status, 'AgentReachable'),
    stateOf(status, 'Compliant'),
  ];
  const fresh = [
    'Healthy A 100',
    'True HeartbeatReceived',
    'True Healthy',
    'True AgentReachable',
    'True Compliant',
  ];
  test.each<[string, number, ObservationContext, string[]]>([
    ['is unchanged after 120 s', 120, {}, fresh],
    [
      'is Unknown after more than 120 s',
      121,
      {},
      ['Unknown A 100', 'False Stale', 'False Stale', 'Unknown NotReporting', 'Unknown NotReporting'],
    ],
    [
      'that is scaled to zero is Pending',
      121,
      { activity: 'scaled-to-zero' },
      [
        'Pending A 100',
        'False ScaledToZero',
        'False ScaledToZero',
        'Unknown NotReporting',
        'Unknown NotReporting',
      ],
    ],
    [
      'that is idle is Pending',
      121,
      { activity: 'idle' },
      ['Pending A 100', 'False Idle', 'False Idle', 'Unknown NotReporting', 'Unknown NotReporting'],
    ],
    ['that still reports is not idle', 60, { activity: 'idle' }, fresh],
  ])('%s', (_name, seconds, context, expected) => {
    expect(brief(statusOf(reported(), at(seconds), context))).toEqual(expected);
  });

  test('is stale according to its own interval', () => {
    const slow = reported({ intervalSeconds: 600 });
    expect(statusOf(slow, at(1800)).phase).toBe('Healthy');
    expect(statusOf(slow, at(1801)).phase).toBe('Unknown');
  });

  test('is up to date again with its first new heartbeat', () => {
    const stale = statusOf(reported(), at(500));
    const back = mergeHeartbeat(stale, aHeartbeat({ seq: 2 }), { instance: 'a' }, at(501));
    expect(brief(back)).toEqual(fresh);
  });

  test('marks its grade as old until it reports again', () => {
    const stale = statusOf(reported(gap(80)), at(121));
    const back = mergeHeartbeat(stale, aHeartbeat({ seq: 2, ...gap(80) }), { instance: 'a' }, at(130));
    const gone = withoutGone(reported(gap(80)), () => false, at(1));
    expect([reported(gap(80)), stale, back, statusOf(gone, at(2))].map((each) => each.oldGrade)).toEqual([
      undefined,
      'B (old)',
      undefined,
      'B (old)',
    ]);
    expect(stale.grade).toBe('B');
    expect(statusOf(undefined, at(500), { hasStarted: true }).oldGrade).toBeUndefined();
  });

  test.each<[number, string, string]>([
    [60, 'Pending', 'False NoHeartbeat'],
    [121, 'Unknown', 'False Stale'],
  ])('whose pods were deleted %i s ago is %s', (seconds, phase, reporting) => {
    const status = statusOf(
      withoutGone(reported(), () => false, at(1)),
      at(seconds),
    );
    expect([status.phase, stateOf(status, 'Reporting'), status.tokens]).toEqual([phase, reporting, 5]);
  });

  test.each([
    ['scaled-to-zero', 'False ScaledToZero'],
    ['idle', 'False Idle'],
  ] as const)('that is %s stays so for writers that do not know the workload', (activity, expected) => {
    const inactive = statusOf(reported(), at(200), { activity });
    for (const seconds of [201, 5_000]) {
      const later = statusOf(inactive, at(seconds));
      expect([later.phase, stateOf(later, 'Reporting')]).toEqual(['Pending', expected]);
      expect(later).toEqual(inactive);
    }
  });

  test.each<[number, string, string]>([
    [0, 'Pending', 'False NoHeartbeat'],
    [120, 'Pending', 'False NoHeartbeat'],
    [121, 'Unknown', 'False Stale'],
  ])('%i s after it was scaled up again is %s', (seconds, phase, reporting) => {
    const empty = withoutGone(reported(), () => false, at(1));
    const inactive = statusOf(empty, at(200), { activity: 'scaled-to-zero' });
    const scaledUp = statusOf(inactive, at(90_000), { activity: 'running' });
    expect(scaledUp.awaitedSince).toBe(at(90_000).toISOString());
    // The result is the same for the operator and for other writers.
    for (const context of [{}, { activity: 'running' as const }]) {
      const later = statusOf(scaledUp, at(90_000 + seconds), context);
      expect([later.phase, stateOf(later, 'Reporting')]).toEqual([phase, reporting]);
    }
  });

  describe('that never reported', () => {
    const verdicts = (status: ObservationStatus): string[] => [
      status.phase,
      stateOf(status, 'Reporting'),
      stateOf(status, 'Ready'),
      stateOf(status, 'Compliant'),
    ];
    const awaiting = [
      'Pending',
      'Unknown AwaitingFirstHeartbeat',
      'False AwaitingFirstHeartbeat',
      'Unknown NotReporting',
    ];
    const never = ['Unknown', 'False NeverReported', 'False NeverReported', 'Unknown NotReporting'];
    /** As the operator sees it: created, and its first pod started after 600 s. */
    const created = statusOf(undefined, at(0), { activity: 'running', hasStarted: false });
    const started = statusOf(created, at(600), { activity: 'running', hasStarted: true });

    test('is Pending while no pod has started, however long that takes', () => {
      expect(created.awaitedSince).toBeUndefined();
      expect(verdicts(statusOf(created, at(1_000_000), { activity: 'running' }))).toEqual(awaiting);
    });

    test.each<[number, string, ObservationContext, string[]]>([
      [0, 'any writer', {}, awaiting],
      [119, 'any writer', {}, awaiting],
      [121, 'any writer', {}, never],
      [121, 'the operator', { activity: 'running', hasStarted: true }, never],
      [500, 'the operator, while a new pod pulls its image', { activity: 'running' }, never],
      [179, 'any writer, with a longer interval', { heartbeatSeconds: 60 }, awaiting],
      [181, 'any writer, with a longer interval', { heartbeatSeconds: 60 }, never],
    ])('%i s after its first pod started, for %s', (seconds, _writer, context, expected) => {
      const later = statusOf(started, at(600 + seconds), context);
      expect(later.awaitedSince).toBe(at(600).toISOString());
      expect(verdicts(later)).toEqual(expected);
      // No further write.
      expect(statusOf(later, at(600.9 + seconds), context)).toEqual(later);
    });

    test('has a message with the time of the start', () => {
      const message = statusOf(started, at(800)).conditions?.find(
        ({ type }) => type === 'Reporting',
      )?.message;
      expect(message).toBe(`no heartbeat has ever been received; expected since ${at(600).toISOString()}`);
    });

    test.each(['scaled-to-zero', 'idle'] as const)(
      'is Pending while it is %s, and its time begins again',
      (activity) => {
        const inactive = statusOf(statusOf(started, at(800)), at(900), { activity });
        expect([inactive.phase, inactive.awaitedSince]).toEqual(['Pending', undefined]);
        const pulling = statusOf(inactive, at(1_000), { activity: 'running', hasStarted: false });
        expect(verdicts(statusOf(pulling, at(2_000), { activity: 'running' }))).toEqual(awaiting);
        const again = statusOf(pulling, at(2_000), { activity: 'running', hasStarted: true });
        expect(verdicts(statusOf(again, at(2_120)))).toEqual(awaiting);
        expect(verdicts(statusOf(again, at(2_121)))).toEqual(never);
      },
    );

    test('is Healthy with its first heartbeat', () => {
      const first = mergeHeartbeat(statusOf(started, at(800)), aHeartbeat(), { instance: 'a' }, at(801));
      expect([first.phase, first.awaitedSince, stateOf(first, 'Reporting')]).toEqual([
        'Healthy',
        undefined,
        'True HeartbeatReceived',
      ]);
    });
  });

  test('has no awaitedSince after it reports or becomes idle again', () => {
    const inactive = statusOf(reported(), at(200), { activity: 'idle' });
    const running = statusOf(inactive, at(300), { activity: 'running' });
    const back = mergeHeartbeat(running, aHeartbeat({ seq: 2 }), { instance: 'a' }, at(301));
    expect([back.phase, back.awaitedSince]).toEqual(['Healthy', undefined]);
    expect(statusOf(running, at(301), { activity: 'idle' }).awaitedSince).toBeUndefined();
  });

  test('has the same status in every later computation', () => {
    const once = statusOf(reported(), at(200));
    expect(statusOf(once, at(300))).toEqual(once);
  });
});

describe('the conditions', () => {
  const reachable: ['agent:upstream', CheckStatus] = ['agent:upstream', 'pass'];
  test.each<[string, Partial<Heartbeat>, string, string]>([
    ['the port responds', checks(reachable), 'True AgentReachable', 'True Healthy'],
    [
      'the port does not respond',
      checks(['agent:upstream', 'fail']),
      'False AgentUnreachable',
      'False AgentUnreachable',
    ],
    [
      'the port was not probed',
      checks(['agent:upstream', 'skip']),
      'Unknown AgentNotProbed',
      'Unknown AgentNotProbed',
    ],
    [
      'the agent reports about itself',
      { ...checks(), source: 'agent-sdk' },
      'True AgentReachable',
      'True Healthy',
    ],
    [
      'there is no check of the port',
      { ...checks(), source: 'manifest-static' },
      'Unknown AgentNotProbed',
      'Unknown AgentNotProbed',
    ],
  ])('AgentReachable and Ready if %s', (_name, heartbeat, agent, ready) => {
    const status = reported(heartbeat);
    expect([stateOf(status, 'AgentReachable'), stateOf(status, 'Ready')]).toEqual([agent, ready]);
  });

  test.each([
    ['healthy', 'True Healthy'],
    ['degraded', 'True Degraded'],
    ['unhealthy', 'False Unhealthy'],
  ] as const)('Ready of an agent with the status %s', (status, ready) => {
    expect(stateOf(reported({ health: { ...aHeartbeat().health, status } }), 'Ready')).toBe(ready);
  });

  const model = { provider: 'openai', id: 'gpt-4o' };
  test.each<[string, Partial<Heartbeat>, string]>([
    ['passes', { model, ...checks(['model:openai/gpt-4o', 'pass']) }, 'True ModelReachable'],
    ['fails', { model, ...checks(['model:openai/gpt-4o', 'fail']) }, 'False ModelUnreachable'],
    ['is skipped', { model, ...checks(['model:openai/gpt-4o', 'skip']) }, 'Unknown ModelNotChecked'],
    ['is for another model', { model, ...checks(['model:openai/other', 'fail']) }, 'Unknown ModelNotChecked'],
    [
      'is for a model that the heartbeat does not declare',
      { model: null, ...checks(['model:openai/other', 'fail']) },
      'False ModelUnreachable',
    ],
    ['is missing', { model }, 'Unknown ModelNotChecked'],
  ])('ModelReachable if the check %s', (_name, heartbeat, expected) => {
    expect(stateOf(reported(heartbeat), 'ModelReachable')).toBe(expected);
  });

  const denied = {
    severity: 'low' as const,
    property: 'policy.x',
    description: 'd',
    recommendation: 'r',
    source: 'policy' as const,
  };
  test.each<[string, Partial<Heartbeat>, ObservationContext, string]>([
    ['grade B', gap(75), {}, 'True Compliant'],
    ['grade C', gap(74), {}, 'False GradeTooLow'],
    ['grade C with the threshold C', gap(60), { compliantGrade: 'C' }, 'True Compliant'],
    ['grade B with the threshold A', gap(89), { compliantGrade: 'A' }, 'False GradeTooLow'],
    ['a critical issue', gap(80, 'critical'), {}, 'False CriticalIssue'],
    ['a high issue', gap(80, 'high'), {}, 'True Compliant'],
    [
      'a denied request',
      { outcomes: { allow: 1, deny: 1, failOpen: 0, notEvaluated: 0 } },
      {},
      'False PolicyDenied',
    ],
    [
      'a denial in the gap',
      { gap: { score: 95, grade: 'A', source: 'agent-sdk', issues: [denied] } },
      {},
      'False PolicyDenied',
    ],
  ])('Compliant with %s', (_name, heartbeat, context, expected) => {
    expect(stateOf(reported(heartbeat, context), 'Compliant')).toBe(expected);
  });

  test('a denial counts only in its own window', () => {
    const outcomes = { allow: 1, deny: 1, failOpen: 0, notEvaluated: 0 };
    const first = reported({ outcomes });
    const second = mergeHeartbeat(first, aHeartbeat({ seq: 2, outcomes }), { instance: 'a' }, at(30));
    expect([stateOf(first, 'Compliant'), stateOf(second, 'Compliant')]).toEqual([
      'False PolicyDenied',
      'True Compliant',
    ]);
  });

  test('lastTransitionTime changes only with the status', () => {
    const timeOf = (status: ObservationStatus, type: ConditionType): string | undefined =>
      status.conditions?.find((each) => each.type === type)?.lastTransitionTime;
    const first = reported();
    const stale = statusOf(first, at(200));
    const same = statusOf(stale, at(300));
    expect(
      [first, stale, same].map((status) => [timeOf(status, 'Reporting'), timeOf(status, 'PolicyLoaded')]),
    ).toEqual([
      ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00Z'],
      ['2026-03-01T12:03:20Z', '2026-03-01T12:00:00Z'],
      ['2026-03-01T12:03:20Z', '2026-03-01T12:00:00Z'],
    ]);
  });
});

describe('a removed instance', () => {
  const bad = { ...gap(60, 'high'), ...checks(['env:KEY', 'fail']) };
  /** The report of `a` with a score of 60 was shown, `b` reported the given score, and `a` is removed. */
  const afterRollout = (score: number): ObservationStatus => {
    const both = mergeHeartbeat(reported(bad), aHeartbeat(gap(score)), { instance: 'b' }, at(1));
    return statusOf(
      withoutGone(both, ({ name }) => name !== 'a', at(2)),
      at(2),
    );
  };

  test('removes its issues if the others have none', () => {
    const { score, grade, issues, issuesTotal, checks, summary, reportedBy, lastChecked } = afterRollout(100);
    expect({ score, grade, issues, issuesTotal, checks, summary, reportedBy, lastChecked }).toEqual({
      score: 100,
      grade: 'A',
      issues: [],
      issuesTotal: 0,
      checks: undefined,
      summary: undefined,
      reportedBy: 'b',
      lastChecked: at(1).toISOString(),
    });
  });

  test('keeps its issues until the next worst instance reports if the others have issues', () => {
    const { score, issues, reportedBy } = afterRollout(80);
    expect([score, issues?.length, reportedBy]).toEqual([80, 1, 'a']);
  });

  test('keeps its last values if no other instance reports', () => {
    const { score, issues, reportedBy } = withoutGone(reported(bad), () => false, at(2));
    expect([score, issues?.length, reportedBy]).toEqual([60, 1, 'a']);
  });
});

describe('a status change', () => {
  const before = reported();
  const [first] = before.instances ?? [];
  if (first === undefined) throw new Error('the status has no instance');
  test.each<[string, ObservationStatus | undefined, Partial<ObservationStatus>, boolean]>([
    ['the first status', undefined, {}, true],
    ['no change', before, {}, false],
    ['phase', before, { phase: 'Degraded' }, true],
    ['grade', before, { grade: 'B' }, true],
    ['score', before, { score: 99 }, true],
    ['violations', before, { violations: 1 }, true],
    ['proofs', before, { proofRevision: 9 }, true],
    ['a condition', before, { conditions: [] }, true],
    ['an additional instance', before, { instances: [first, { ...first, name: 'b' }] }, true],
    ['a removed instance', before, { instances: [] }, false],
    ['tokens', before, { tokens: 99 }, false],
    ['time', before, { lastChecked: 'later' }, false],
    ['the worst reports', before, { worst: [] }, false],
  ])('is urgent or not: %s', (_name, from, change, urgent) => {
    expect(isUrgent(from, { ...before, ...change })).toBe(urgent);
  });

  test.each([
    [10, 20_000],
    [30, 60_000],
    [3600, 60_000],
  ])('may wait, with an interval of %i s, up to %i ms', (interval, ms) => {
    expect(coalescingWindowMs(interval)).toBe(ms);
  });

  test.each([
    [{ tokens: 9 }, 0, 20_000],
    [{ tokens: 9 }, 15_000, 5_000],
    [{ tokens: 9 }, 60_000, 0],
    [{ score: 1 }, 0, 0],
  ])('%j is written, %i ms after the last write, in %i ms', (change, sinceLastWriteMs, delay) => {
    const timing = { sinceLastWriteMs, intervalSeconds: 10 };
    expect(writeDelayMs({ before, after: { ...before, ...change } }, timing)).toBe(delay);
  });
});
