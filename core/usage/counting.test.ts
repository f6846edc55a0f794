import { describe, expect, test } from '@jest/globals';
import { anEntry } from '../../testing/fleet/audit-entry.ts';
import fc from '../../testing/random/properties.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { BehavioralEvent } from '../shapes/events.ts';
import { applyEvents } from '../behavior/apply-events.ts';
import { addToDay, emptyDay, totalsToday } from './day-totals.ts';
import { callsOf, lateCallsOf, ringUsageReport } from '../behavior/entry-usage.ts';
import { parseUsageReport } from './parse-usage-report.ts';
import { addCalls, emptyWindow, subtractWindow } from './usage-window.ts';
import type { CallSum } from '../shapes/sidecar-reports.ts';
import type { ModelCall } from '../shapes/request-usage.ts';

const call = (modelId: string, promptTokens: number, completionTokens: number): ModelCall => ({
  modelId,
  promptTokens,
  completionTokens,
  totalTokens: promptTokens + completionTokens,
});
const event = (modelId: string, promptTokens: number, completionTokens: number): BehavioralEvent => ({
  type: 'model',
  modelId,
  promptTokens,
  completionTokens,
});
const WIRE = call('gpt-4o', 3, 4);

describe('the usage of an entry', () => {
  test.each<[string, Partial<AuditEntry>, ModelCall[]]>([
    ['is that of the response', { usage: WIRE }, [WIRE]],
    ['is that of the response if events report less', { usage: WIRE, events: [event('m', 1, 1)] }, [WIRE]],
    [
      'is that of the events if they report more',
      { usage: WIRE, events: [event('m', 9, 9)] },
      [call('m', 9, 9)],
    ],
    [
      'contains each call of the response',
      { usage: { ...WIRE, totalTokens: 14, calls: [WIRE, call('n', 3, 4)] } },
      [WIRE, call('n', 3, 4)],
    ],
    [
      'is that of the events if the response has no readable usage',
      {
        usage: { unavailable: 'gzip' },
        events: [event('m', 1, 2), { type: 'tool', name: 't' }, event('n', 3, 4)],
      },
      [call('m', 1, 2), call('n', 3, 4)],
    ],
    ['is empty if it is unknown', { usage: { unavailable: 'gzip' } }, []],
    ['is empty if there is none', {}, []],
  ])('%s', (_name, entry, expected) => {
    expect(callsOf(anEntry(entry))).toEqual(expected);
  });

  const { outcome: _, ...inFlight } = anEntry();
  test.each<[string, AuditEntry, BehavioralEvent[], ModelCall[]]>([
    ['adds its calls to a completed entry without usage', anEntry(), [event('m', 1, 2)], [call('m', 1, 2)]],
    [
      'adds its calls to those of earlier events',
      anEntry({ events: [event('m', 1, 2)] }),
      [event('n', 3, 4)],
      [call('n', 3, 4)],
    ],
    ['adds nothing if the response reports more', anEntry({ usage: WIRE }), [event('m', 1, 2)], []],
    [
      'adds the difference if it reports more than the response',
      anEntry({ usage: WIRE }),
      [event('m', 9, 5)],
      [call('m', 6, 1)],
    ],
    [
      'adds nothing to an entry in flight, which is counted at its completion',
      inFlight,
      [event('m', 1, 2)],
      [],
    ],
  ])('a late event %s', (_name, entry, events, expected) => {
    expect(lateCallsOf(entry, applyEvents(entry, events))).toEqual(expected);
  });
});

test('the ring report sums usage by model and counts calls without usage separately', () => {
  const entries = [
    anEntry({ usage: WIRE }),
    anEntry({ usage: call('gpt-4o', 10, 10) }),
    anEntry({ usage: { unavailable: 'gzip' }, events: [event('local', 1, 1), event('local', 1, 1)] }),
    anEntry({ usage: { unavailable: 'gzip' } }),
    anEntry(),
  ];
  const report = {
    source: 'audit-ring',
    models: [
      { modelId: 'gpt-4o', totalTokens: 27, callCount: 2 },
      { modelId: 'local', totalTokens: 4, callCount: 2 },
    ],
    totalTokens: 31,
    totalCalls: 4,
    costUsd: 2.5,
    sampleSize: 3,
    callsWithoutUsage: 1,
  };
  const reportWith = (withoutRequest: CallSum): unknown =>
    ringUsageReport(entries, { withoutRequest, unknownWithoutRequest: 0, costOf: () => 2.5 });
  expect(reportWith({ totalTokens: 0, totalCalls: 0 })).toEqual(report);
  const withoutRequest = { totalTokens: 0, totalCalls: 2 };
  expect(reportWith(withoutRequest)).toEqual({ ...report, withoutRequest });
});

describe('a usage window', () => {
  const START = '2026-03-01T12:00:00.000Z';
  const LATER = new Date('2026-03-01T12:00:30.000Z');

  test('sums calls by model', () => {
    const window = addCalls(emptyWindow(START), [WIRE, WIRE, call('m', 1, 0)]);
    expect(window).toEqual({
      windowStartedAt: START,
      models: [
        { modelId: 'gpt-4o', promptTokens: 6, completionTokens: 8, totalTokens: 14, callCount: 2 },
        { modelId: 'm', promptTokens: 1, completionTokens: 0, totalTokens: 1, callCount: 1 },
      ],
      totalTokens: 15,
      totalCalls: 3,
    });
  });

  test('is the same after calls added one by one, and earlier windows stay as they were', () => {
    const calls = [WIRE, call('m', 1, 0), WIRE, call('m', 2, 3)];
    const windows = [emptyWindow(START)];
    for (const each of calls) windows.push(addCalls(windows.at(-1)!, [each]));
    for (const [count, window] of windows.entries())
      expect(window).toEqual(addCalls(emptyWindow(START), calls.slice(0, count)));
  });

  test('contains only the calls recorded since the snapshot after a push', () => {
    const shipped = addCalls(emptyWindow(START), [WIRE, call('m', 1, 0)]);
    const grown = addCalls(shipped, [WIRE]);
    expect(subtractWindow(grown, shipped, LATER)).toEqual({
      windowStartedAt: LATER.toISOString(),
      models: [{ ...WIRE, callCount: 1 }],
      totalTokens: 7,
      totalCalls: 1,
    });
  });

  test('counts models above the limit under one name', () => {
    const calls = Array.from({ length: 500 }, (_, index) => call(`m${index}`, 1, 0));
    const window = addCalls(emptyWindow(START), calls);
    expect(window.models).toHaveLength(100);
    expect(window.models.at(-1)).toEqual({
      modelId: '(other)',
      promptTokens: 401,
      completionTokens: 0,
      totalTokens: 401,
      callCount: 401,
    });
    expect(window.totalTokens).toBe(500);
  });

  test('neither loses a call nor counts a call twice if pushes fail', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('call' as const),
        model: fc.constantFrom('a', 'b', '__proto__'),
        tokens: fc.nat(100),
      }),
      fc.record({ kind: fc.constant('push' as const), succeeds: fc.boolean(), meanwhile: fc.nat(100) }),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let window = emptyWindow(START);
        let recorded = 0;
        let arrived = 0;
        const record = (modelId: string, tokens: number): void => {
          window = addCalls(window, [call(modelId, tokens, 0)]);
          recorded += tokens;
        };
        for (const each of steps) {
          if (each.kind === 'call') record(each.model, each.tokens);
          else {
            const shipped = window;
            record('a', each.meanwhile);
            if (!each.succeeds) continue;
            arrived += shipped.totalTokens;
            window = subtractWindow(window, shipped, LATER);
          }
        }
        expect(arrived + window.totalTokens).toBe(recorded);
      }),
    );
  });
});

describe('the totals of the UTC day', () => {
  const evening = new Date('2026-03-01T23:59:59.000Z');
  const morning = new Date('2026-03-02T00:00:01.000Z');
  const day = addToDay(emptyDay(evening), [call('m', 1_000_000, 500_000)], evening);

  test.each([
    ['contain no cost without a price', evening, undefined, { tokensToday: 1_500_000 }],
    [
      'contain the cost with a price',
      evening,
      { input: 2, output: 8 },
      { tokensToday: 1_500_000, costTodayUsd: 6 },
    ],
    ['are zero on a new day', morning, { input: 2, output: 8 }, { tokensToday: 0, costTodayUsd: 0 }],
  ])('%s', (_name, at, price, expected) => {
    expect(totalsToday(day, at, price)).toEqual(expected);
  });

  test('start from zero with the first call of a new day', () => {
    expect(addToDay(day, [call('m', 1, 2)], morning)).toEqual({
      day: '2026-03-02',
      promptTokens: 1,
      completionTokens: 2,
      totalTokens: 3,
    });
  });
});

describe("the agent's own usage report", () => {
  const model = { modelId: 'm', promptTokens: 1, completionTokens: 2, totalTokens: 3, callCount: 1 };
  const report = {
    source: 'agent-sdk',
    windowStartedAt: '2026-03-01T12:00:00.000Z',
    models: [model],
    totalTokens: 3,
    totalCalls: 1,
  };
  test('is accepted if it is valid', () => {
    expect(parseUsageReport(report)).toEqual(report);
  });

  test.each<[string, unknown]>([
    ['another source', { ...report, source: 'audit-ring' }],
    ['a total that is not a number', { ...report, totalTokens: '3' }],
    ['a negative count', { ...report, models: [{ ...model, callCount: -1 }] }],
    ['a string as body', 'usage'],
    ['fewer tokens than its models', { ...report, totalTokens: report.totalTokens - 1 }],
    ['more tokens than its models', { ...report, totalTokens: report.totalTokens + 1 }],
    ['0 tokens and models with tokens', { ...report, totalTokens: 0 }],
    ['fewer calls than its models', { ...report, totalCalls: report.totalCalls - 1 }],
    ['more calls than its models', { ...report, totalCalls: report.totalCalls + 1 }],
    ['tokens and an empty list of models', { ...report, models: [] }],
    [
      'a model whose total is less than its parts',
      { ...report, models: [{ ...model, promptTokens: model.totalTokens + 1 }] },
    ],
  ])('is rejected with %s', (_name, value) => {
    expect(parseUsageReport(value)).toBeNull();
  });

  test('is cut to a hundred models and keeps its totals', () => {
    const models = Array.from({ length: 150 }, (_, index) => ({ ...model, modelId: `m${index}` }));
    const many = {
      ...report,
      models,
      totalTokens: 150 * model.totalTokens,
      totalCalls: 150 * model.callCount,
    };
    expect(parseUsageReport(many)).toEqual({ ...many, models: models.slice(0, 100) });
  });

  test('never makes parseUsageReport throw', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(parseUsageReport(value)).toBeNull();
      }),
    );
  });
});
