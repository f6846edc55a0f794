import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import type { OutcomeCounts } from '../shapes/outcomes.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { mergeHeartbeat } from '../observation/merge-heartbeat.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { statusOf, withoutGone } from '../observation/status-of.ts';
import type { HistoryPoint } from '../shapes/history.ts';
import { pointOf } from './point-of.ts';

/** A heartbeat; by default of process `a`, which started at 10:00. */
interface Beat {
  /** Time of day of March 1, or a whole time. */
  at: string;
  from?: string;
  /** As `at`. null: not reported. */
  startedAt?: string | null;
  /** null: no totals. */
  tokens?: number | null;
  costUsd?: number;
  outcomes?: Partial<OutcomeCounts> | null;
  rest?: Partial<Heartbeat>;
}

/** `b 10:00:30<10:00:10 7`: at 10:00:30, of process `b`, which started at 10:00:10, with 7 tokens or allowed requests. */
function beatsOf(given: string | Beat[], member: 'tokens' | 'allow'): Beat[] {
  if (typeof given !== 'string') return given;
  return given.split(', ').map((text): Beat => {
    const [, from = 'a', at = '', startedAt = '10:00:00', count] =
      /^(?:(\w) )?([^ <]+)(?:<(\S+))? (\d+)$/.exec(text) ?? [];
    const counted = Number(count);
    return {
      at,
      from,
      startedAt,
      ...(member === 'tokens' ? { tokens: counted } : { outcomes: { allow: counted } }),
    };
  });
}

const timeOf = (text: string): Date => new Date(text.includes('T') ? text : `2026-03-01T${text}Z`);

const outcomesOf = (counts: Partial<OutcomeCounts>): OutcomeCounts => ({
  allow: 0,
  deny: 0,
  failOpen: 0,
  notEvaluated: 0,
  ...counts,
});

function heartbeatOf(beat: Beat, seq: number): Heartbeat {
  const { startedAt = '10:00:00', tokens = 0, costUsd, outcomes = null, rest } = beat;
  return aHeartbeat({
    seq,
    sentAt: null,
    startedAt: startedAt === null ? null : timeOf(startedAt).toISOString(),
    totals:
      tokens === null
        ? null
        : { tokensToday: tokens, ...(costUsd === undefined ? {} : { costTodayUsd: costUsd }) },
    outcomes: outcomes && outcomesOf(outcomes),
    ...rest,
  });
}

/** The points of the heartbeats, and the status after the last one. */
function pointsOf(beats: readonly Beat[]): { points: HistoryPoint[]; status: ObservationStatus } {
  const points: HistoryPoint[] = [];
  let status: ObservationStatus | undefined;
  for (const [index, beat] of beats.entries()) {
    const at = timeOf(beat.at);
    const instance = beat.from ?? 'a';
    const after = mergeHeartbeat(status, heartbeatOf(beat, index + 1), { instance }, at);
    points.push(pointOf(status, after, at));
    status = after;
  }
  return { points, status: status ?? { phase: 'Pending' } };
}

test('a point has the state after the heartbeat', () => {
  const gap: Heartbeat['gap'] = { score: 80, grade: 'A', source: 'agent-sdk', issues: [] };
  const health: Heartbeat['health'] = { ...aHeartbeat().health, status: 'degraded' };
  const { points } = pointsOf([
    { at: '10:00:00', tokens: 5, costUsd: 0.5, outcomes: { allow: 3, deny: 1 } },
    { at: '10:00:30', tokens: 7, costUsd: 0.75, outcomes: { allow: 4, deny: 1 }, rest: { gap, health } },
  ]);
  expect(points).toEqual([
    {
      at: '2026-03-01T10:00:00.000Z',
      heartbeats: 1,
      ...{ score: 100, scoreMin: 100, scoreMax: 100, grade: 'A', phase: 'Healthy' },
      ...{ tokens: 5, costUsd: 0.5, outcomes: outcomesOf({ allow: 3, deny: 1 }) },
    },
    {
      at: '2026-03-01T10:00:30.000Z',
      heartbeats: 1,
      ...{ score: 80, scoreMin: 80, scoreMax: 80, grade: 'B', phase: 'Degraded' },
      ...{ tokens: 2, costUsd: 0.25, outcomes: outcomesOf({ allow: 1 }) },
    },
  ]);
});

describe('tokens of a point', () => {
  test.each<[string, string | Beat[], number[]]>([
    ['are the increase of the total', '10:00:00 10, 10:00:30 10, 10:01:00 25', [10, 0, 15]],
    ['count each instance', 'a 10:00:00 10, b 10:00:05 4, a 10:00:30 11, b 10:00:35 9', [10, 4, 1, 5]],
    ['restart at midnight', '23:59:50 100, 2026-03-02T00:00:20Z 3, 2026-03-02T00:00:50Z 5', [100, 3, 2]],
    [
      'do not contain the total of the last day of another instance',
      'a 23:59:50 100, b 2026-03-02T00:00:10Z 2, a 2026-03-02T00:00:20Z 3',
      [100, 2, 3],
    ],
    [
      'keep the total of the earlier process after a restart',
      '10:00:00 50, 10:01:00<10:00:50 2, 10:01:30<10:00:50 6',
      [50, 2, 4],
    ],
    [
      'do not decrease when an instance is forgotten, and count its return once',
      'a 10:00:00 50, b 12:00:00 1, a 12:10:00 60',
      [50, 1, 10],
    ],
    [
      'are the usage windows of a sender without totals',
      [
        { at: '10:00:00', tokens: null, rest: { usage: usageOf(7) } },
        { at: '10:00:30', tokens: null, rest: { usage: usageOf(0) } },
        { at: '10:01:00', tokens: null, rest: { usage: usageOf(3) } },
      ],
      [7, 0, 3],
    ],
    [
      'are 0 without totals and usage',
      [
        { at: '10:00:00', tokens: null },
        { at: '10:00:30', tokens: null },
      ],
      [0, 0],
    ],
    [
      'are 0 if the total decreases',
      [
        { at: '10:00:00', startedAt: null, tokens: 50, rest: { seq: null } },
        { at: '10:00:30', startedAt: null, tokens: 8, rest: { seq: null } },
        { at: '10:01:00', startedAt: null, tokens: 9, rest: { seq: null } },
      ],
      [50, 0, 1],
    ],
    [
      'do not depend on a clock that is set back within a day',
      '10:00:00 10, 08:00:00 12, 08:00:30 15',
      [10, 2, 3],
    ],
    [
      'begin again if the clock is set back to an earlier day',
      '2026-03-02T00:00:10Z 10, 23:59:50 12, 2026-03-02T00:00:20Z 14',
      [10, 12, 14],
    ],
  ])('%s', (_, beats, expected) => {
    expect(pointsOf(beatsOf(beats, 'tokens')).points.map(({ tokens }) => tokens)).toEqual(expected);
  });

  test('include instances that were removed', () => {
    const { status } = pointsOf([
      { at: '10:00:00', from: 'a', tokens: 10 },
      { at: '10:00:05', from: 'b', tokens: 4 },
    ]);
    const at = timeOf('10:01:00');
    const without = statusOf(
      withoutGone(status, ({ name }) => name !== 'a', at),
      at,
    );
    const after = mergeHeartbeat(without, heartbeatOf({ at: '', tokens: 5 }, 9), { instance: 'b' }, at);
    expect(pointOf(without, after, at).tokens).toBe(1);
  });
});

function usageOf(totalTokens: number): NonNullable<Heartbeat['usage']> {
  return { windowStartedAt: '2026-03-01T10:00:00.000Z', models: [], totalTokens, totalCalls: 1 };
}

describe('the cost of a point', () => {
  test.each<[string, (number | undefined)[], number[]]>([
    ['is the increase of the total', [0.5, 0.5, 0.75], [0.5, 0, 0.25]],
    ['is 0 without a price', [undefined, undefined], [0, 0]],
    ['is 0 if the price is removed from the manifest', [0.5, undefined], [0.5, 0]],
  ])('%s', (_, costs, expected) => {
    const beats = costs.map((costUsd, index): Beat => {
      const at = `10:0${index}:00`;
      return costUsd === undefined ? { at, tokens: 9 } : { at, tokens: 9, costUsd };
    });
    expect(pointsOf(beats).points.map((point) => point.costUsd)).toEqual(expected);
  });
});

describe('outcomes of a point', () => {
  test.each<[string, string | Beat[], number[]]>([
    ['are the increase of the counters', '10:00:00 3, 10:00:30 3, 10:01:00 8', [3, 0, 5]],
    ['count each instance', 'a 10:00:00 3, b 10:00:05 2, a 10:00:30 4', [3, 2, 1]],
    ['do not restart at midnight', '23:59:50<23:00:00 100, 2026-03-02T00:00:20Z<23:00:00 103', [100, 3]],
    [
      'count from zero after a restart',
      '10:00:00 50, 10:01:00<10:00:50 60, 10:01:30<10:00:50 61',
      [50, 60, 1],
    ],
    [
      'count from zero if a counter decreases, because the sender reports no start',
      [
        { at: '10:00:00', startedAt: null, outcomes: { allow: 50 }, rest: { seq: null } },
        { at: '10:00:30', startedAt: null, outcomes: { allow: 2 }, rest: { seq: null } },
        { at: '10:01:00', startedAt: null, outcomes: { allow: 5 }, rest: { seq: null } },
      ],
      [50, 2, 3],
    ],
    [
      'are not counted twice when a forgotten process returns',
      'a 10:00:00 50, b 12:00:00<11:59:00 1, a 12:10:00 60, a 12:10:30 64',
      [50, 1, 0, 4],
    ],
    [
      'are those of the last hour at most for a process that is new to the store',
      '11:00:00.001 50, 11:00:30 51, b 11:00:35<10:00:35 7',
      [0, 1, 7],
    ],
    [
      'are 0 for a sender that is not a proxy',
      [
        { at: '10:00:00', outcomes: null },
        { at: '10:00:30', outcomes: null },
      ],
      [0, 0],
    ],
    [
      'count all if the process reported none before',
      [
        { at: '10:00:00', outcomes: null },
        { at: '10:00:30', outcomes: { allow: 4 } },
      ],
      [0, 4],
    ],
    [
      'do not depend on a clock that is set back',
      '2026-03-02T00:00:10Z<23:30:00 10, 23:59:50<23:30:00 12',
      [10, 2],
    ],
  ])('%s', (_, beats, expected) => {
    const { points } = pointsOf(beatsOf(beats, 'allow'));
    expect(points.map(({ outcomes }) => outcomes.allow)).toEqual(expected);
  });

  test('are separate', () => {
    const { points } = pointsOf([
      { at: '10:00:00', outcomes: { allow: 4, deny: 3, failOpen: 2, notEvaluated: 1 } },
      { at: '10:00:30', outcomes: { allow: 5, deny: 5, failOpen: 5, notEvaluated: 5 } },
    ]);
    expect(points.at(-1)?.outcomes).toEqual({ allow: 1, deny: 2, failOpen: 3, notEvaluated: 4 });
  });
});

describe('for random heartbeats of several instances', () => {
  const NAMES = ['a', 'b', 'c'];
  /** Steps of up to two hours, so that days change and instances are forgotten. */
  const step = fc.record({
    name: fc.constantFrom(...NAMES),
    seconds: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 7_200 })),
    tokens: fc.integer({ min: 0, max: 1_000 }),
    event: fc.constantFrom('none', 'none', 'none', 'restart', 'removed', 'aged'),
  });

  interface Process {
    startedAt: Date;
    day: string;
    tokens: number;
  }

  test('the points of a day add up to the tokens and the cost that the status shows', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const processes = new Map<string, Process>();
        const sums = new Map<string, { tokens: number; costUsd: number }>();
        const shown = new Map<string, number>();
        let at = timeOf('20:00:00');
        let status: ObservationStatus | undefined;
        for (const [index, { name, seconds, tokens, event }] of steps.entries()) {
          at = new Date(at.getTime() + seconds * 1000);
          const day = at.toISOString().slice(0, 10);
          if (event === 'restart') processes.delete(name);
          if (event === 'removed' && status !== undefined)
            status = statusOf(
              withoutGone(status, (instance) => instance.name !== name, at),
              at,
            );
          if (event === 'aged') status &&= statusOf(status, at);
          const known = processes.get(name) ?? { startedAt: at, day, tokens: 0 };
          const process = {
            ...known,
            day,
            tokens: (known.day === day ? known.tokens : 0) + tokens,
          };
          processes.set(name, process);
          const heartbeat = aHeartbeat({
            seq: index + 1,
            sentAt: at.toISOString(),
            startedAt: process.startedAt.toISOString(),
            totals: { tokensToday: process.tokens, costTodayUsd: process.tokens / 1000 },
          });
          const after = mergeHeartbeat(status, heartbeat, { instance: name }, at);
          const point = pointOf(status, after, at);
          const sum = sums.get(day) ?? { tokens: 0, costUsd: 0 };
          sums.set(day, { tokens: sum.tokens + point.tokens, costUsd: sum.costUsd + point.costUsd });
          shown.set(day, after.tokens ?? 0);
          status = after;
        }
        for (const [day, { tokens, costUsd }] of sums) {
          expect(tokens).toBe(shown.get(day));
          expect(costUsd).toBeCloseTo(tokens / 1000, 6);
        }
      }),
      { numRuns: runs(150) },
    );
  });

  test('no value is negative, whatever the senders report', () => {
    const anyBeat = fc.record({
      name: fc.constantFrom(...NAMES),
      // The clock may be set back.
      seconds: fc.integer({ min: -90_000, max: 90_000 }),
      heartbeat: fc.record({
        seq: fc.option(fc.nat({ max: 50 })),
        startedAt: fc.option(
          fc.integer({ min: -3, max: 3 }).map((days) => new Date(Date.UTC(2026, 2, 1 + days)).toISOString()),
        ),
        totals: fc.option(fc.record({ tokensToday: fc.nat(), costTodayUsd: fc.nat() })),
        usage: fc.option(fc.nat().map(usageOf)),
        outcomes: fc.option(
          fc.record({ allow: fc.nat(), deny: fc.nat(), failOpen: fc.nat(), notEvaluated: fc.nat() }),
        ),
      }),
    });
    fc.assert(
      fc.property(fc.array(anyBeat, { maxLength: 30 }), (beats) => {
        let at = timeOf('12:00:00');
        let status: ObservationStatus | undefined;
        for (const { name, seconds, heartbeat } of beats) {
          at = new Date(at.getTime() + seconds * 1000);
          const sent = aHeartbeat({ ...heartbeat, sentAt: null });
          const after = mergeHeartbeat(status, sent, { instance: name }, at);
          const { tokens, costUsd, outcomes } = pointOf(status, after, at);
          for (const value of [tokens, costUsd, ...Object.values(outcomes)])
            expect(value).toBeGreaterThanOrEqual(0);
          status = after;
        }
      }),
      { numRuns: runs(150) },
    );
  });
});
