import { beforeEach, describe, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/time/manual-clock.ts';
import fc from '../testing/random/properties.ts';
import { createUsageLedger, type Recorded, type UsageLedger } from './usage-ledger.ts';

let clock: ManualClock;
let ledger: UsageLedger;
const START = '2026-03-01T23:59:00.000Z';

beforeEach(() => {
  clock = new ManualClock(START);
  ledger = createUsageLedger(() => clock.now(), { input: 2, output: 8 });
});

const model = (
  modelId: string,
  promptTokens: number,
  completionTokens: number,
  callCount: number,
): unknown => ({
  modelId,
  promptTokens,
  completionTokens,
  totalTokens: promptTokens + completionTokens,
  callCount,
});

describe('the usage ledger', () => {
  test('sums per model', () => {
    ledger.record('gpt', 10, 5);
    ledger.record('gpt', 1, 0);
    ledger.record('mini', 3, 4);
    expect(ledger.report()).toEqual({
      source: 'agent-sdk',
      windowStartedAt: START,
      models: [model('gpt', 11, 5, 2), model('mini', 3, 4, 1)],
      totalTokens: 23,
      totalCalls: 3,
    });
  });

  const TOKENS = 'must be a whole number from 0 to 1000000000';
  test.each<[string, unknown[], string]>([
    ['a negative count', ['m', -1, 0], `promptTokens ${TOKENS}`],
    ['a fraction', ['m', 0.5, 0], `promptTokens ${TOKENS}`],
    ['NaN', ['m', 0, Number.NaN], `completionTokens ${TOKENS}`],
    ['a string', ['m', '12', 0], `promptTokens ${TOKENS}`],
    ['an absent count', ['m', undefined, 0], `promptTokens ${TOKENS}`],
    ['a billion and one', ['m', 0, 1e9 + 1], `completionTokens ${TOKENS}`],
    ['infinity', ['m', Infinity, 0], `promptTokens ${TOKENS}`],
    ['a blank model id', [' ', 1, 1], 'modelId must be a non-empty string'],
    ['a model id that is not a string', [null, 1, 1], 'modelId must be a non-empty string'],
  ])('does not count %s, returns the reason and does not throw', (_name, call, reason) => {
    const record = ledger.record.bind(ledger) as unknown as (...call: unknown[]) => Recorded;
    expect(record(...call)).toEqual({ ok: false, reason });
    expect(ledger.report()).toMatchObject({ models: [], totalTokens: 0, totalCalls: 0 });
  });

  test('counts a billion tokens in one call, and truncates a long model id', () => {
    expect([ledger.record('m', 1e9, 1e9), ledger.record('é'.repeat(300), 0, 0)]).toEqual([
      { ok: true, call: { modelId: 'm', promptTokens: 1e9, completionTokens: 1e9 } },
      { ok: true, call: { modelId: 'é'.repeat(200), promptTokens: 0, completionTokens: 0 } },
    ]);
    expect(ledger.report().models).toEqual([model('m', 1e9, 1e9, 1), model('é'.repeat(200), 0, 0, 1)]);
  });

  test('removes a window after its confirmation; the next window starts at the time of take', () => {
    ledger.record('gpt', 10, 5);
    clock.advance(1_000);
    expect(ledger.take('a')).toMatchObject({ windowStartedAt: START, totalTokens: 15 });
    ledger.record('gpt', 2, 0);
    ledger.confirm('a');
    expect(ledger.take('b')).toEqual({
      windowStartedAt: '2026-03-01T23:59:01.000Z',
      models: [model('gpt', 2, 0, 1)],
      totalTokens: 2,
      totalCalls: 1,
    });
  });

  test('returns the same window for the same heartbeat, despite later usage', () => {
    ledger.record('gpt', 10, 5);
    const first = ledger.take('a');
    ledger.record('gpt', 2, 0);
    expect(ledger.take('a')).toEqual(first);
    expect(ledger.report()).toMatchObject({ totalTokens: 17, totalCalls: 2, windowStartedAt: START });
  });

  test('keeps the usage of an abandoned heartbeat', () => {
    ledger.record('gpt', 10, 5);
    ledger.take('a');
    ledger.record('gpt', 2, 0);
    ledger.record('mini', 1, 1);
    expect(ledger.take('b')).toEqual({
      windowStartedAt: START,
      models: [model('gpt', 12, 5, 2), model('mini', 1, 1, 1)],
      totalTokens: 19,
      totalCalls: 3,
    });
  });

  test('ignores the confirmation of an unknown heartbeat', () => {
    ledger.record('gpt', 1, 0);
    ledger.take('a');
    ledger.confirm('z');
    expect(ledger.take('b')).toMatchObject({ totalTokens: 1 });
  });

  test('limits the number of models, not the total', () => {
    for (let n = 0; n < 150; n += 1) ledger.record(`m${n}`, 1, 0);
    const { models, totalTokens } = ledger.report();
    expect([models.length, totalTokens, models.at(-1)]).toEqual([100, 150, model('(other)', 51, 0, 51)]);
  });

  test('keeps the totals of the UTC day for shipped and unshipped usage', () => {
    ledger.record('gpt', 1_000_000, 500_000);
    ledger.take('a');
    ledger.confirm('a');
    expect(ledger.totals()).toEqual({ tokensToday: 1_500_000, costTodayUsd: 6 });
    clock.advance(60_000);
    expect(ledger.totals()).toEqual({ tokensToday: 0, costTodayUsd: 0 });
    ledger.record('gpt', 5, 0);
    expect(ledger.totals()).toEqual({ tokensToday: 5, costTodayUsd: 0.00001 });
  });

  test('reports no cost without a price', () => {
    const unpriced = createUsageLedger(() => clock.now());
    unpriced.record('gpt', 7, 0);
    expect(unpriced.totals()).toEqual({ tokensToday: 7 });
  });

  test('neither loses nor duplicates usage for any order of record, take and confirm', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(fc.constant('record'), fc.constantFrom('a', 'b'), fc.nat(100)) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('take'), fc.constantFrom('h1', 'h2', 'h3'), fc.nat(0)) },
      {
        weight: 2,
        arbitrary: fc.tuple(fc.constant('confirm'), fc.constantFrom('h1', 'h2', 'h3'), fc.nat(0)),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const own = createUsageLedger(() => clock.now());
        let [recorded, calls, arrived, arrivedCalls] = [0, 0, 0, 0];
        let last: { id: string; tokens: number; calls: number } | null = null;
        for (const [kind, name, tokens] of steps) {
          if (kind === 'record') {
            own.record(name, tokens, 1);
            recorded += tokens + 1;
            calls += 1;
          } else if (kind === 'take') {
            const { totalTokens, totalCalls } = own.take(name);
            last = { id: name, tokens: totalTokens, calls: totalCalls };
          } else {
            own.confirm(name);
            if (last?.id === name) {
              arrived += last.tokens;
              arrivedCalls += last.calls;
              last = null;
            }
          }
          const left = own.report();
          expect([arrived + left.totalTokens, arrivedCalls + left.totalCalls]).toEqual([recorded, calls]);
        }
        expect(own.totals().tokensToday).toBe(recorded);
      }),
      { numRuns: 500 },
    );
  });
});
