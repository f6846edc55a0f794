import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import type { Issue } from '../shapes/gap.ts';
import { gradeOf } from '../shapes/grade.ts';
import type { HealthStatus, Check } from '../shapes/health.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import type { BoundTo, ProofRecord } from '../shapes/proof.ts';
import { changedSince } from '../evidence/stale-proofs.ts';
import { inForceOf } from './proofs.ts';
import { isRepeat, mergeHeartbeat, type Sender } from './merge-heartbeat.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import type { OrganisationStatus } from '../shapes/organisation.ts';
import { statusOf, withoutGone } from './status-of.ts';
import { othersToday } from './tokens.ts';

const NOON = '2026-03-01T12:00:00.000Z';
const at = (seconds: number): Date => new Date(Date.parse(NOON) + seconds * 1000);

interface Beat {
  from?: string;
  uid?: string;
  seq?: number | null;
  startedAt?: string | null;
  /** Seconds after noon. */
  second?: number;
  health?: HealthStatus;
  score?: number;
  tokens?: number | null;
  rest?: Partial<Heartbeat>;
  context?: Omit<Sender, 'instance' | 'uid'>;
}

function heartbeatOf(beat: Beat): Heartbeat {
  const {
    seq = 1,
    startedAt = '2026-03-01T09:00:00.000Z',
    second = 0,
    health = 'healthy',
    score = 100,
    tokens = 0,
  } = beat;
  const base = aHeartbeat();
  return {
    ...base,
    seq,
    startedAt,
    sentAt: at(second).toISOString(),
    health: { ...base.health, status: health },
    gap: { ...base.gap, score, grade: gradeOf(score) },
    totals: tokens === null ? null : { tokensToday: tokens },
    ...beat.rest,
  };
}

const senderOf = ({ from = 'pod-a', uid, context }: Beat): Sender => ({
  instance: from,
  ...(uid === undefined ? {} : { uid }),
  ...context,
});

const merge = (status: ObservationStatus | undefined, beat: Beat): ObservationStatus =>
  mergeHeartbeat(status, heartbeatOf(beat), senderOf(beat), at(beat.second ?? 0));

const after = (...beats: Beat[]): ObservationStatus =>
  beats.reduce<ObservationStatus | undefined>(merge, undefined) ?? { phase: 'Pending' };

const brief = (status: ObservationStatus): string =>
  `${status.phase} ${status.grade} ${status.score} ${status.tokens} ${status.reportedBy}`;

const condition = (status: ObservationStatus, type: string): string => {
  const found = status.conditions?.find((each) => each.type === type);
  return `${found?.status} ${found?.reason}`;
};

const issue = (severity: Issue['severity'], property: string, source?: Issue['source']): Issue => ({
  severity,
  property,
  description: property,
  recommendation: 'r',
  ...(source ? { source } : {}),
});

const upstream = (status: Check['status']): Check => ({
  id: 'agent:upstream',
  category: 'service',
  status,
  severity: 'warning',
});

describe('the first heartbeat', () => {
  test('creates a complete status', () => {
    const heartbeat = heartbeatOf({
      score: 70,
      health: 'degraded',
      tokens: 12,
      rest: {
        source: 'manifest-static',
        health: {
          ...aHeartbeat().health,
          status: 'degraded',
          summary: { passed: 1, failed: 0, warnings: 1, skipped: 0 },
          checks: [
            upstream('fail'),
            { id: 'model:openai/gpt-4o', category: 'model', status: 'pass', severity: 'error', latencyMs: 9 },
          ],
        },
        gap: {
          score: 70,
          grade: 'C',
          source: 'manifest-static',
          issues: [issue('low', 'policy.x', 'policy'), issue('critical', 'policy.y', 'policy')],
        },
        usage: { windowStartedAt: NOON, models: [], totalTokens: 0, totalCalls: 0 },
        outcomes: { allow: 1, deny: 2, failOpen: 0, notEvaluated: 3 },
        policyMode: 'track',
        policyState: 'none',
        manifestHash: 'h',
        model: { provider: 'openai', id: 'gpt-4o' },
        sidecarVersion: '0.1.0',
        scoreWithoutLocalProofs: 70,
        evidence: null,
        audit: null,
      },
    });
    expect(
      mergeHeartbeat(undefined, heartbeat, { instance: 'pod-a', uid: 'u', observedGeneration: 3 }, at(1)),
    ).toEqual({
      observedGeneration: 3,
      phase: 'Degraded',
      grade: 'C',
      score: 70,
      source: 'manifest-static',
      tokens: 12,
      violations: 2,
      worst: [
        {
          ...{ manifestHash: 'h', score: 70, grade: 'C', at: at(1).toISOString() },
          criticalIssues: [{ property: 'policy.y', at: at(1).toISOString() }],
        },
      ],
      issues: [issue('critical', 'policy.y', 'policy'), issue('low', 'policy.x', 'policy')],
      issuesTotal: 2,
      checks: heartbeat.health.checks,
      usage: heartbeat.usage,
      outcomes: heartbeat.outcomes,
      summary: heartbeat.health.summary,
      model: { provider: 'openai', id: 'gpt-4o', status: 'pass', latencyMs: 9 },
      policyMode: 'track',
      manifestHash: 'h',
      instances: [
        {
          name: 'pod-a',
          uid: 'u',
          startedAt: '2026-03-01T09:00:00.000Z',
          seq: 1,
          phase: 'Degraded',
          score: 70,
          lastHeartbeat: at(1).toISOString(),
          intervalSeconds: 30,
          sidecarVersion: '0.1.0',
          tokensToday: 12,
          costTodayUsd: 0,
          day: '2026-03-01',
          violations: 2,
          criticalIssues: 1,
          agentReachable: false,
          modelStatus: 'pass',
          manifestHash: 'h',
          policyState: 'none',
          outcomes: { allow: 1, deny: 2, failOpen: 0, notEvaluated: 3 },
          deniedInWindow: 2,
        },
      ],
      instanceCount: 1,
      reportedBy: 'pod-a',
      lastChecked: at(1).toISOString(),
      conditions: [
        ['Ready', 'False', 'AgentUnreachable', 'the agent does not respond in 1 of 1 instances'],
        ['Reporting', 'True', 'HeartbeatReceived', 'all instances send heartbeats'],
        ['AgentReachable', 'False', 'AgentUnreachable', 'the agent does not respond in 1 of 1 instances'],
        ['ModelReachable', 'True', 'ModelReachable', 'the model endpoint responds'],
        ['PolicyLoaded', 'False', 'NoEngine', 'no policy engine is configured'],
        ['Allowed', 'True', 'NoPolicy', 'no organisation rule selects the agent'],
        ['Stopped', 'False', 'Running', 'the agent is not stopped'],
        ['Compliant', 'False', 'GradeTooLow', 'the grade is below B'],
      ].map(([type, status, reason, message]) => ({
        type,
        status,
        reason,
        message,
        lastTransitionTime: '2026-03-01T12:00:01Z',
        observedGeneration: 3,
      })),
    });
  });
});

describe('issues of the LLM analysis', () => {
  const gapWith = (...issues: Issue[]): Partial<Heartbeat> => ({
    gap: { score: 95, grade: 'A', source: 'agent-sdk', issues },
  });

  test('change no condition, whatever they contain', () => {
    const own = issue('low', 'evaluated');
    const hostile = ['reporter.invalid', 'evaluated', 'policy.x', 'spec.model'].map((property) =>
      issue('critical', property, 'llm'),
    );
    const [without, withThem] = [gapWith(own), gapWith(own, ...hostile)].map((rest) =>
      after({ score: 95, rest }),
    );
    expect(withThem?.conditions).toEqual(without?.conditions);
    expect(withThem?.instances).toEqual(without?.instances);
    expect([withThem?.violations, withThem?.score]).toEqual([without?.violations, without?.score]);
    expect(withThem?.issues).toEqual([own, ...hostile]);
  });

  test('take no place of another issue in the list', () => {
    const own = Array.from({ length: 48 }, (_, index) => issue('low', `tool:${index}`));
    const found = Array.from({ length: 10 }, (_, index) => issue('critical', `spec.tools[${index}]`, 'llm'));
    const status = after({ rest: gapWith(...found, ...own) });
    expect(status.issues).toEqual([...own, ...found.slice(0, 2)]);
    expect(status.issuesTotal).toBe(58);
  });
});

describe('isRepeat', () => {
  const first = after({ seq: 5, tokens: 7 });
  test.each<[string, Beat, boolean]>([
    ['the same heartbeat', { seq: 5, tokens: 7 }, true],
    ['an older heartbeat of the same process', { seq: 4 }, true],
    ['the next heartbeat', { seq: 6 }, false],
    ['a heartbeat of another instance', { seq: 5, from: 'pod-b' }, false],
    ['a heartbeat of a new pod with the same name', { seq: 5, uid: 'new' }, false],
    ['a heartbeat of a later process', { seq: 1, startedAt: '2026-03-01T11:59:00.000Z' }, false],
    [
      'a late heartbeat of an earlier process',
      { seq: 9, startedAt: '2026-03-01T08:00:00.000Z', second: 119 },
      true,
    ],
    [
      'an earlier start time after a long silence (the clock was set back)',
      { seq: 1, startedAt: '2026-03-01T08:00:00.000Z', second: 121 },
      false,
    ],
    ['a heartbeat without a number', { seq: null }, false],
    ['a heartbeat without a start time', { seq: 5, startedAt: null }, false],
  ])('for %s', (_name, beat, repeats) => {
    expect(isRepeat(first, heartbeatOf(beat), senderOf(beat), at(beat.second ?? 0))).toBe(repeats);
    expect(merge(first, beat) === first).toBe(repeats);
  });

  test('is false for the first heartbeat', () => {
    expect(isRepeat(undefined, heartbeatOf({}), senderOf({}), at(0))).toBe(false);
  });
});

describe('several instances', () => {
  test.each<[string, Beat[], string]>([
    [
      'the worst phase',
      [{ from: 'a' }, { from: 'b', health: 'unhealthy' }, { from: 'c', health: 'degraded' }],
      'Unhealthy A 100 0 b',
    ],
    [
      'the lowest score',
      [
        { from: 'a', score: 80 },
        { from: 'b', score: 60 },
      ],
      'Healthy C 60 0 b',
    ],
    [
      'the worst phase and the lowest score of different instances, with the report of the worst phase',
      [
        { from: 'a', health: 'degraded' },
        { from: 'b', score: 10 },
      ],
      'Degraded F 10 0 a',
    ],
    [
      'the sum of tokens',
      [
        { from: 'a', tokens: 5 },
        { from: 'b', tokens: 7 },
      ],
      'Healthy A 100 12 a',
    ],
    [
      'the report of the first by name if they are equal',
      [{ from: 'b' }, { from: 'a' }],
      'Healthy A 100 0 a',
    ],
  ])('result in %s', (_name, beats, expected) => {
    expect(brief(after(...beats))).toBe(expected);
  });

  const withIssue = (property: string): Partial<Heartbeat> => ({
    gap: { score: 70, grade: 'C', source: 'agent-sdk', issues: [issue('high', property)] },
  });
  test('when the worst instance recovers, phase and score change at once and the lists with the next heartbeat', () => {
    const two = after(
      { from: 'a', health: 'unhealthy', score: 50, rest: withIssue('of a') },
      { from: 'b', health: 'degraded', score: 70, rest: withIssue('of b') },
    );
    expect([two.phase, two.score, two.reportedBy, two.issues?.[0]?.property]).toEqual([
      'Unhealthy',
      70,
      'a',
      'of a',
    ]);
    const recovered = merge(two, { from: 'a', seq: 2, second: 30, score: 100 });
    expect([recovered.phase, recovered.score, recovered.reportedBy, recovered.issuesTotal]).toEqual([
      'Degraded',
      70,
      'a',
      0,
    ]);
    const updated = merge(recovered, {
      from: 'b',
      seq: 2,
      second: 31,
      health: 'degraded',
      rest: withIssue('of b'),
    });
    expect([updated.phase, updated.score, updated.reportedBy, updated.issues?.[0]?.property]).toEqual([
      'Degraded',
      70,
      'b',
      'of b',
    ]);
  });

  test('outcomes are summed, and violations are the maximum of all instances', () => {
    const outcomes = (deny: number): Partial<Heartbeat> => ({
      outcomes: { allow: 1, deny, failOpen: 0, notEvaluated: 2 },
    });
    const status = after({ from: 'a', rest: outcomes(3) }, { from: 'b', rest: outcomes(4) });
    expect(status.outcomes).toEqual({ allow: 2, deny: 7, failOpen: 0, notEvaluated: 4 });
  });

  test('violations are the distinct reasons in the gap and in the denials since the last heartbeat', () => {
    const gap = {
      ...aHeartbeat().gap,
      issues: [issue('high', 'policy.a', 'policy'), issue('high', 'policy.z')],
    };
    const first = after({ from: 'a', rest: { gap, denials: ['a', 'tool_not_declared'] } }, { from: 'b' });
    expect([first.violations, condition(first, 'Compliant')]).toEqual([2, 'False PolicyDenied']);
    expect(merge(first, { from: 'a', seq: 2, second: 10, rest: { denials: [] } }).violations).toBe(0);
  });

  test('a silent instance does not affect the agent and gets the phase Unknown', () => {
    const two = after({ from: 'a', health: 'unhealthy', score: 10 }, { from: 'b' });
    const later = merge(two, { from: 'b', seq: 2, second: 121 });
    expect(brief(later)).toBe('Healthy A 100 0 b');
    expect(later.instances?.map(({ name, phase }) => `${name} ${phase}`)).toEqual(['a Unknown', 'b Healthy']);
    expect(condition(later, 'Reporting')).toBe('True SomeInstancesSilent');
  });

  const many = Array.from({ length: 50 }, (_, index): Beat => ({ from: `pod-${index}`, tokens: 1 }));
  const window = (totalTokens: number): Partial<Heartbeat> => ({
    usage: { windowStartedAt: NOON, models: [], totalTokens, totalCalls: 1 },
  });

  test('above 50 are counted, each once for any number of heartbeats', () => {
    const further: Beat = { from: 'z-one-more', tokens: 1000, rest: window(9) };
    const status = after(...many, further, further, { ...further, seq: 2, tokens: 1010 });
    expect(status.instances).toHaveLength(50);
    expect(status.unlisted?.map(({ name }) => name)).toEqual(['z-one-more']);
    expect([status.instanceCount, status.unlistedCount, status.tokens]).toEqual([51, 1, 1060]);
    expect(status.departedToday).toBeUndefined();
    const room = statusOf(
      withoutGone(status, ({ name }) => name !== 'pod-0', at(1)),
      at(1),
    );
    const listed = merge(room, { ...further, seq: 3, second: 2, tokens: 1020 });
    expect([listed.instanceCount, listed.tokens, listed.departedToday?.tokens]).toEqual([50, 1070, 1]);
    expect([listed.unlisted, listed.unlistedCount]).toEqual([undefined, undefined]);
  });

  test('that are not listed are removed when they become silent or their pods are deleted, and their tokens stay', () => {
    const further: Beat = { from: 'z-one-more', uid: 'u', tokens: 1000 };
    const status = after(...many, further);
    const gone = statusOf(
      withoutGone(status, ({ uid }) => uid !== 'u', at(1)),
      at(1),
    );
    const silent = statusOf(status, at(121));
    for (const each of [gone, silent])
      expect([each.instanceCount, each.unlistedCount, each.tokens]).toEqual([50, undefined, 1050]);
  });

  test('above 50 keep the worst of each criterion: a healthy instance with grade F decides the grade', () => {
    const degraded = Array.from({ length: 60 }, (_, index): Beat => ({
      from: `bad-${index}`,
      health: 'degraded',
      score: 80,
    }));
    const worst: Beat = { from: 'worst', score: 10 };
    for (const beats of [
      [worst, ...degraded],
      [...degraded, worst],
    ]) {
      const status = after(...beats);
      expect([status.phase, status.grade, status.score]).toEqual(['Degraded', 'F', 10]);
      expect([status.instances?.length, status.instanceCount, status.unlistedCount]).toEqual([50, 61, 11]);
    }
  });

  test('a worse instance replaces a listed instance with its next heartbeat, and its report is shown', () => {
    const status = after(...many, { from: 'z-one-more' });
    const worse = merge(status, { from: 'z-one-more', seq: 2, score: 20, health: 'unhealthy' });
    expect(brief(worse)).toBe('Unhealthy F 20 50 z-one-more');
    expect(worse.unlisted?.map(({ name }) => name)).toEqual(['pod-9']);
  });

  test('above 1,000 count by usage windows if they send no totals or departedToday has no room', () => {
    const full = after(...many);
    const { phase: _phase, score: _score, ...row } = full.instances![0]!;
    const status = {
      ...full,
      unlisted: Array.from({ length: 950 }, (_, index) => ({ ...row, name: `unlisted-${index}` })),
    };
    const others = Array.from({ length: 151 }, (_, index): Beat => ({
      from: `further-${index}`,
      tokens: 100,
      rest: window(1),
    }));
    const plain: Beat = { from: 'plain', tokens: null, rest: window(9) };
    const counted = [...others, plain, { ...plain, seq: 2 }].reduce(merge, status);
    expect([counted.instanceCount, counted.unlistedCount]).toEqual([1000, 950]);
    expect([counted.tokens, counted.departedToday?.instances?.length]).toEqual([1000 + 15_001 + 18, 150]);
  });
});

describe('tokens of the day', () => {
  const restarted = '2026-03-01T11:00:00.000Z';
  test.each<[string, Beat[], number]>([
    ['are the last reported total', [{ tokens: 5 }, { seq: 2, tokens: 9 }], 9],
    [
      'include the usage of a process before its restart',
      [{ tokens: 5 }, { tokens: 2, startedAt: restarted }],
      7,
    ],
    [
      'include the usage of a deleted pod whose name is reused',
      [
        { uid: 'u', tokens: 5 },
        { uid: 'v', tokens: 2 },
      ],
      7,
    ],
    ['exclude the previous day', [{ tokens: 5 }, { from: 'b', second: 43_201, tokens: 1 }], 1],
    [
      'exclude processes that ended on the previous day',
      [
        { tokens: 5 },
        { tokens: 2, startedAt: restarted },
        { seq: 2, second: 43_201, tokens: 3, startedAt: restarted },
      ],
      3,
    ],
    [
      'count for the day on which they were sent',
      [{ second: 43_201, tokens: 5, rest: { sentAt: '2026-03-01T23:59:59.900Z' } }],
      0,
    ],
    [
      'count for the day of the receiver if the clock of the sender is wrong',
      [{ tokens: 5, rest: { sentAt: '2020-01-01T00:00:00.000Z' } }],
      5,
    ],
    [
      'are the sum of the usage windows of a sender without totals',
      [4, 5, 6].map((tokens, index): Beat => ({
        seq: index + 1,
        second: index * 30,
        tokens: null,
        rest: { usage: { windowStartedAt: NOON, models: [], totalTokens: tokens, totalCalls: 1 } },
      })),
      15,
    ],
    [
      'are the sum of the usage windows of a sender without heartbeat numbers',
      [4, 5].map((tokens): Beat => ({
        seq: null,
        startedAt: null,
        tokens: null,
        rest: { usage: { windowStartedAt: NOON, models: [], totalTokens: tokens, totalCalls: 1 } },
      })),
      9,
    ],
    [
      'start from zero with the first window of a day',
      [
        {
          tokens: null,
          rest: { usage: { windowStartedAt: NOON, models: [], totalTokens: 4, totalCalls: 1 } },
        },
        {
          seq: 2,
          second: 43_201,
          tokens: null,
          rest: { usage: { windowStartedAt: NOON, models: [], totalTokens: 6, totalCalls: 1 } },
        },
      ],
      6,
    ],
  ])('%s', (_name, beats, tokens) => {
    expect(after(...beats).tokens).toBe(tokens);
  });

  test('of the other instances include ended processes', () => {
    const cost = (costTodayUsd: number, tokensToday: number): Partial<Heartbeat> => ({
      totals: { tokensToday, costTodayUsd },
    });
    const status = after(
      { from: 'a', rest: cost(1, 10) },
      { from: 'a', startedAt: restarted, rest: cost(2, 20) },
      { from: 'b', rest: cost(4, 40) },
    );
    expect(othersToday(status, 'a', at(0))).toEqual({ tokens: 50, costUsd: 5 });
    expect(othersToday(status, 'b', at(0))).toEqual({ tokens: 30, costUsd: 3 });
    expect(othersToday(status, 'b', at(43_201))).toEqual({ tokens: 0, costUsd: 0 });
  });

  test('of a deleted pod stay', () => {
    const two = after({ from: 'a', tokens: 5 }, { from: 'b', tokens: 7 });
    const one = statusOf(
      withoutGone(two, ({ name }) => name === 'b', at(1)),
      at(1),
    );
    expect([one.tokens, one.instanceCount, one.departedToday]).toEqual([
      12,
      1,
      {
        day: '2026-03-01',
        tokens: 5,
        costUsd: 0,
        instances: [{ name: 'a', startedAt: '2026-03-01T09:00:00.000Z', tokens: 5, costUsd: 0 }],
      },
    ]);
    expect(withoutGone(one, () => true, at(1))).toBe(one);
    expect(statusOf(one, at(43_201)).departedToday).toBeUndefined();
  });
});

describe('an ended process', () => {
  const started = '2026-03-01T09:00:00.000Z';
  const withoutPods = (status: ObservationStatus, second: number, ...names: string[]): ObservationStatus =>
    statusOf(
      withoutGone(status, ({ name }) => !names.includes(name), at(second)),
      at(second),
    );
  const totalsOf = (status: ObservationStatus) => [status.tokens, status.departedToday?.tokens ?? 0];

  test('that reports again counts once, because its part of departedToday is removed', () => {
    const left = withoutPods(after({ uid: 'u', tokens: 5 }), 1, 'pod-a');
    expect(totalsOf(left)).toEqual([5, 5]);
    const late = merge(left, { uid: 'u', seq: 2, second: 2, tokens: 7 });
    expect(totalsOf(late)).toEqual([7, 0]);
    expect(totalsOf(withoutPods(late, 3, 'pod-a'))).toEqual([7, 7]);
  });

  test('keeps its last total when an older report, delayed by another replica, arrives', () => {
    const left = withoutPods(after({ uid: 'u', seq: 3, tokens: 7 }), 1, 'pod-a');
    const held: Beat = { uid: 'u', seq: 2, second: 2, tokens: 5 };
    expect(isRepeat(left, heartbeatOf(held), senderOf(held), at(2))).toBe(true);
    expect(merge(left, held)).toBe(left);
    // Totals of the previous day are not compared with the totals of a new day.
    expect(totalsOf(merge(left, { ...held, seq: 4, second: 43_201, tokens: 1 }))).toEqual([1, 0]);
  });

  test.each<[string, Beat]>([
    ['another pod', { from: 'pod-b', uid: 'v', tokens: 2 }],
    ['a new pod with the same name', { uid: 'v', tokens: 2 }],
    ['its own next process', { uid: 'u', startedAt: '2026-03-01T11:00:00.000Z', tokens: 2 }],
    [
      'the process itself, with usage windows',
      {
        uid: 'u',
        seq: 2,
        tokens: null,
        rest: { usage: { windowStartedAt: NOON, models: [], totalTokens: 2, totalCalls: 1 } },
      },
    ],
  ])('keeps its ended total when another sender reports: %s', (_name, next) => {
    const left = withoutPods(after({ uid: 'u', tokens: 5 }), 1, 'pod-a');
    expect(totalsOf(merge(left, { second: 2, ...next }))).toEqual([7, 5]);
  });

  test('is identified by name and UID if it does not report its start time', () => {
    const nameless: Beat = { uid: 'u', seq: null, startedAt: null, tokens: 5 };
    const left = withoutPods(after(nameless), 1, 'pod-a');
    expect(totalsOf(merge(left, { ...nameless, second: 2, tokens: 6 }))).toEqual([6, 0]);
  });

  test('is remembered until 150 others have ended, and its tokens count for the whole day', () => {
    const beats = Array.from({ length: 160 }, (_, index): Beat => ({ from: `pod-${index}`, tokens: 1 }));
    const names = beats.map((beat) => beat.from ?? '');
    const left = beats.reduce<ObservationStatus>(
      (status, beat, index) => withoutPods(merge(status, beat), 0, names[index] ?? ''),
      { phase: 'Pending' },
    );
    expect(left.departedToday?.instances?.map(({ name }) => name)).toEqual(names.slice(10));
    expect(left.tokens).toBe(160);
    expect(withoutPods(left, 43_201, 'none').departedToday).toBeUndefined();
  });

  test('counts once for any order of reports, departures and late reports', () => {
    const step = fc.record({
      from: fc.constantFrom('a', 'b', 'c'),
      more: fc.nat(50),
      departs: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const totals = new Map<string, number>();
        let status: ObservationStatus = { phase: 'Pending' };
        for (const [index, { from, more, departs }] of steps.entries()) {
          const tokens = (totals.get(from) ?? 0) + more;
          totals.set(from, tokens);
          status = merge(status, { from, uid: from, startedAt: started, seq: index + 1, tokens });
          if (departs) status = withoutPods(status, 0, from);
        }
        const expected = [...totals.values()].reduce((sum, tokens) => sum + tokens, 0);
        expect(status.tokens ?? 0).toBe(expected);
      }),
    );
  });
});

describe('proofs', () => {
  const proof: ProofRecord = {
    ruleId: 'EVAL-01',
    origin: 'local',
    verifiedBy: 'ci',
    method: 'm',
    verifiedAt: '2026-03-01T10:00:00.000Z',
  };
  test('of a heartbeat are stored, and are removed by a sender that knew them', () => {
    const one = after({ rest: { proof: [proof], proofRevision: 0 } });
    expect([one.proofs, one.proofRevision]).toEqual([[proof], 1]);
    const behind = merge(one, { seq: 2, rest: { proof: [], proofRevision: 0 } });
    expect(behind.proofs).toEqual([proof]);
    const removed = merge(behind, { seq: 3, second: 30, rest: { proof: [], proofRevision: 1 } });
    expect([removed.proofs, removed.proofRevision, removed.proofTombstones]).toEqual([
      [],
      2,
      [{ ruleId: 'EVAL-01', origin: 'local', at: at(30).toISOString() }],
    ]);
  });

  test('decided by another store are stored unless their revision is older', () => {
    const set = { revision: 3, proofs: [{ ...proof, origin: 'control-plane' as const }], tombstones: [] };
    const one = after({ rest: { proof: [proof] } });
    const decided = (status: ObservationStatus, seq: number, revision: number): ObservationStatus =>
      mergeHeartbeat(
        status,
        aHeartbeat({ seq, proof: [] }),
        { instance: 'i-1', proofs: { ...set, revision } },
        at(seq * 20),
      );
    expect(decided(one, 2, 3)).toMatchObject({ proofs: set.proofs, proofRevision: 3 });
    expect(decided(decided(one, 2, 3), 3, 2)).toMatchObject({ proofs: set.proofs, proofRevision: 3 });
  });

  test('limit the claimed proved score where only those of the control plane count', () => {
    const before: ObservationStatus = {
      phase: 'Pending',
      proofs: [{ ...proof, ruleId: 'MEM-01', origin: 'control-plane' }],
    };
    const provedOf = (status: ObservationStatus | undefined, proofWrites?: 'local' | 'control-plane') => {
      const sender = { instance: 'i-1', ...(proofWrites && { proofWrites }) };
      const merged = mergeHeartbeat(
        status,
        aHeartbeat({ proof: [{ ...proof, ruleId: 'MEM-01' }] }),
        sender,
        at(0),
      );
      return [merged.audit?.proved, merged.instances?.[0]?.audit?.proved];
    };
    expect(provedOf(undefined, 'control-plane')).toEqual([67, 67]);
    expect(provedOf(before, 'control-plane')).toEqual([100, 100]);
    for (const writes of ['local', undefined] as const)
      expect(provedOf(undefined, writes)).toEqual([100, 100]);
  });

  test('of origin local count in the score, but not for the condition Compliant', () => {
    const compliant = (rest: Partial<Heartbeat>) =>
      after({ rest }).conditions?.find(({ type }) => type === 'Compliant');
    const gap = { score: 75, grade: 'B' as const, source: 'manifest-static' as const, issues: [] };
    expect(compliant({ gap })).toMatchObject({ status: 'True' });
    expect(compliant({ gap, scoreWithoutLocalProofs: 70 })).toMatchObject({
      status: 'False',
      reason: 'GradeTooLow',
    });
    expect(compliant({ gap: { ...gap, score: 70, grade: 'C' }, scoreWithoutLocalProofs: 100 })).toMatchObject(
      {
        status: 'False',
      },
    );
    expect(after({ rest: { gap, scoreWithoutLocalProofs: 70 } })).toMatchObject({ score: 75, grade: 'B' });
  });

  describe('of a sidecar that does not report the score without local proofs', () => {
    const { origin: _, ...unknown } = proof;
    const proved: ProofRecord = { ...proof, origin: 'control-plane' };
    const expired = at(-1).toISOString();
    const missing = issue('low', 'evaluated');
    test.each<
      [
        string,
        { score?: number; issues?: Issue[]; rest?: Partial<Heartbeat>; stored?: ProofRecord[] },
        string,
      ]
    >([
      ['a local proof may have raised the grade', {}, 'Unknown LocalProofsUnknown'],
      ['a local proof in its list of proofs', { rest: { proof: [unknown] } }, 'Unknown LocalProofsUnknown'],
      ['a proof of unknown origin', { stored: [unknown] }, 'Unknown LocalProofsUnknown'],
      [
        'a proof of the control plane that has expired',
        { stored: [{ ...proved, expiresAt: expired }] },
        'Unknown LocalProofsUnknown',
      ],
      ['a proof of the control plane', { stored: [proved] }, 'True Compliant'],
      ['an issue that a local proof would remove', { issues: [missing] }, 'True Compliant'],
      ['a score that is high enough without local proofs', { score: 80 }, 'True Compliant'],
      ['a score that is too low with local proofs', { score: 74 }, 'False GradeTooLow'],
      ['an agent without a sidecar', { rest: { sidecarVersion: null } }, 'True Compliant'],
      ['a sidecar that reports the score', { rest: { scoreWithoutLocalProofs: 75 } }, 'True Compliant'],
    ])('determine Compliant: %s', (_name, { score = 75, issues = [], rest = {}, stored = [] }, expected) => {
      const gap = { score, grade: gradeOf(score), source: 'manifest-static' as const, issues };
      const before: ObservationStatus = { phase: 'Pending', proofs: stored, proofRevision: 1 };
      const status = merge(before, { rest: { gap, sidecarVersion: '0.1.0', ...rest } });
      expect(condition(status, 'Compliant')).toBe(expected);
    });
  });
});

describe('a heartbeat whose gap has the issue reporter.invalid', () => {
  const issue: Issue = {
    severity: 'high',
    property: 'reporter.invalid',
    description: 'd',
    recommendation: 'r',
  };
  const gap = { score: 80, grade: 'B' as const, source: 'manifest-static' as const, issues: [issue] };
  const compliantOf = (status: ObservationStatus) =>
    status.conditions?.find(({ type }) => type === 'Compliant');

  test('sets Compliant to False with the reason ReporterInvalid until the next valid report', () => {
    const one = after({ rest: { gap } });
    expect(compliantOf(one)).toMatchObject({ status: 'False', reason: 'ReporterInvalid' });
    expect(compliantOf(merge(one, { seq: 2, second: 30 }))).toMatchObject({ status: 'True' });
  });

  test('sets Compliant to False if it comes from one of two instances', () => {
    const two = merge(after({ rest: { gap } }), { from: 'pod-b', score: 100 });
    expect(compliantOf(two)).toMatchObject({ status: 'False', reason: 'ReporterInvalid' });
  });
});

describe('status members from other sources', () => {
  test('such as the registration and the operator conditions are kept', () => {
    const injected = {
      type: 'Injected' as const,
      status: 'True' as const,
      reason: 'Injected',
      message: 'm',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const known: ObservationStatus = {
      phase: 'Pending',
      agentId: 'agt_1',
      runtime: 'docker',
      tokenHashes: [{ hash: 'h', expiresAt: NOON }],
      model: { provider: 'openai', id: 'gpt-4o' },
      conditions: [injected],
    };
    const status = merge(known, {});
    expect(status).toMatchObject({
      agentId: 'agt_1',
      runtime: 'docker',
      tokenHashes: known.tokenHashes,
      model: { provider: 'openai', id: 'gpt-4o' },
    });
    expect(status.conditions?.[0]).toBe(injected);
    expect(status.conditions).toHaveLength(9);
  });

  test('are not kept if they come from a heartbeat and the next one does not contain them', () => {
    const full = after({
      rest: {
        usage: { windowStartedAt: NOON, models: [], totalTokens: 0, totalCalls: 0 },
        policyMode: 'off',
        manifestHash: 'h',
      },
    });
    const { usage, policyMode, manifestHash } = merge(full, { seq: 2 });
    expect([usage, policyMode, manifestHash]).toEqual([undefined, undefined, undefined]);
  });
});

describe('properties', () => {
  const beat = fc.record({
    from: fc.constantFrom('a', 'b', 'c'),
    seq: fc.integer({ min: 1, max: 4 }),
    startedAt: fc.constantFrom('2026-03-01T09:00:00.000Z', '2026-03-01T10:00:00.000Z', null),
    health: fc.constantFrom<HealthStatus>('healthy', 'degraded', 'unhealthy'),
    score: fc.integer({ min: 0, max: 100 }),
    tokens: fc.nat(1000),
    second: fc.integer({ min: 0, max: 60 }),
  });

  test('merging a heartbeat with number and start time twice equals merging it once', () => {
    fc.assert(
      fc.property(fc.array(beat, { maxLength: 6 }), beat, (before, last) => {
        const once = merge(after(...before), last);
        const again = merge(once, last);
        if (last.startedAt === null) expect(again.tokens).toBe(once.tokens);
        else expect(again).toBe(once);
      }),
    );
  });

  test('the aggregates do not depend on the order of the instances', () => {
    const eachOnce = fc.uniqueArray(beat, { selector: (each) => each.from, minLength: 1 });
    fc.assert(
      fc.property(eachOnce, fc.integer(), (beats, seed) => {
        const same = beats.map((each) => ({ ...each, second: 0 }));
        const shuffled = [...same]
          .sort((a, b) => ((a.score * 7 + seed) % 5) - ((b.score * 7 + seed) % 5))
          .reverse();
        expect(after(...shuffled)).toEqual(after(...same));
      }),
    );
  });

  test('with more than 50 instances the verdict equals the verdict of all instances', () => {
    const report = fc.record({
      health: fc.constantFrom<HealthStatus>('healthy', 'degraded', 'unhealthy'),
      score: fc.integer({ min: 60, max: 100 }),
      rest: fc.record({
        scoreWithoutLocalProofs: fc.constantFrom(null, null, null, 40),
        sidecarVersion: fc.constantFrom(null, '0.1.0'),
        policyState: fc.constantFrom<Heartbeat['policyState']>(
          'answered',
          'answered',
          'none',
          'not-loaded',
          null,
        ),
        outcomes: fc.constantFrom(null, { allow: 1, deny: 0, failOpen: 0, notEvaluated: 0 }),
      }),
    });
    fc.assert(
      fc.property(fc.array(report, { minLength: 51, maxLength: 70 }), (reports) => {
        const beats = reports.map((each, index): Beat => ({ ...each, from: `i-${index}` }));
        const all = beats.map((each) => after(each).instances![0]!);
        const verdict = (status: ObservationStatus) => [
          [
            status.phase,
            status.grade,
            status.score,
            status.violations,
            status.outcomes,
            status.instanceCount,
          ],
          status.conditions?.map(({ type, status: holds, reason }) => `${type} ${holds} ${reason}`),
        ];
        const listed = after(...beats);
        expect(listed.instances).toHaveLength(50);
        expect(verdict(listed)).toEqual(
          verdict(statusOf({ ...listed, instances: all, unlisted: [] }, at(0))),
        );
      }),
      { numRuns: runs(20) },
    );
  });

  test('the score is the minimum of the instances, and tokens are never negative', () => {
    fc.assert(
      fc.property(fc.array(beat, { minLength: 1, maxLength: 8 }), (beats) => {
        const status = after(...beats);
        expect(status.score).toBe(Math.min(...(status.instances ?? []).map((each) => each.score)));
        expect(status.tokens).toBeGreaterThanOrEqual(0);
        expect(status.instanceCount).toBe(new Set(beats.map((each) => each.from)).size);
      }),
    );
  });
});

describe('the rules of the organisation', () => {
  const ORGANISATION = {
    ...{ judgedAt: NOON, manifestHash: 'a', brokenTotal: 1, notJudged: [] },
    broken: [
      {
        ...{ policy: 'production', rule: 'models', severity: 'high', action: 'Deny' },
        ...{ path: 'spec.model.id', message: 'model o9 is not one of openai/*' },
      },
    ],
  } satisfies OrganisationStatus;

  test('are compared with the merged status, and decide Allowed and Compliant', () => {
    const judged: (number | undefined)[] = [];
    const judge = (status: ObservationStatus): OrganisationStatus => {
      judged.push(status.score);
      return ORGANISATION;
    };
    const beat = { score: 77 };
    const status = mergeHeartbeat(undefined, heartbeatOf(beat), { ...senderOf(beat), judge }, at(0));
    expect(status.organisation).toBe(ORGANISATION);
    expect(condition(status, 'Allowed')).toContain('RuleBroken');
    expect(condition(status, 'Compliant')).toContain('NotAllowed');
    // The grade compares declared and observed only.
    expect([status.phase, status.score]).toEqual(['Healthy', 77]);
    expect(judged).toEqual([77]);
  });
});

describe('stale proofs', () => {
  const proof: ProofRecord = {
    ...{ ruleId: 'EVAL-01', verifiedBy: 'ci', method: 'tested', verifiedAt: NOON, origin: 'control-plane' },
    boundTo: { model: 'gpt-4o' },
  };
  const stored: ObservationStatus = { phase: 'Pending', proofs: [proof], proofRevision: 3 };
  const reported = (state?: 'stale') => ({
    proof: [{ ...proof, ...(state && { state }) }],
    proofRevision: 3,
  });

  test('are those that a live instance reports as stale, until it reports that they count', () => {
    const one = merge(stored, { from: 'pod-a', rest: reported('stale') });
    expect([one.proofs, one.instances?.[0]?.staleProofs]).toEqual([
      [{ ...proof, state: 'stale' }],
      ['EVAL-01'],
    ]);
    const other = merge(one, { from: 'pod-b', second: 5, rest: reported() });
    expect(other.proofs).toEqual([{ ...proof, state: 'stale' }]);
    const both = merge(other, { from: 'pod-a', seq: 2, second: 30, rest: reported() });
    expect(both.proofs).toEqual([proof]);
    expect(both.instances?.map(({ staleProofs }) => staleProofs)).toEqual([undefined, undefined]);
  });

  test('are known at once if no instance has the manifest, or another model is declared', () => {
    const hash = (letter: string): string => letter.repeat(64);
    const model = { provider: 'openai', id: 'gpt-4o' };
    const status = merge(stored, { rest: { manifestHash: hash('a'), model } });
    const two = merge(status, { from: 'pod-b', second: 5, rest: { manifestHash: hash('b'), model } });
    const changed = (boundTo: BoundTo) => changedSince(boundTo, inForceOf(two, { boundTo }));
    expect(changed({ manifest: hash('a'), model: 'gpt-4o' })).toEqual([]);
    expect(changed({ manifest: hash('b') })).toEqual([]);
    expect(changed({ manifest: hash('c'), model: 'gpt-5' })).toEqual(['manifest', 'model']);
    // The control plane knows neither file.
    expect(changed({ promptFile: hash('d'), lock: hash('e') })).toEqual([]);
  });

  test('of an instance that is silent do not decide', () => {
    const one = merge(stored, { from: 'pod-a', rest: reported('stale') });
    expect(merge(one, { from: 'pod-b', second: 600, rest: reported() }).proofs).toEqual([proof]);
  });

  test('do not raise the proved score, which the control plane limits', () => {
    const audit = { declared: 100, proved: 100, failed: [], suppressions: [] };
    const provedWith = (state?: 'stale') =>
      merge(stored, { rest: { ...reported(state), audit }, context: { proofWrites: 'control-plane' } }).audit
        ?.proved;
    expect(provedWith('stale')).toBeLessThan(provedWith() ?? 0);
  });
});
