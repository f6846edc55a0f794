import { describe, expect, test } from '@jest/globals';
import { anEntry } from '../../testing/audit-entry.ts';
import fc from '../../testing/properties.ts';
import type { AuditEntry, BehavioralEvent } from '../behavior/audit-entry.ts';
import { applyEvents } from '../behavior/apply-events.ts';
import { addToDay, emptyDay, totalsToday } from './day-totals.ts';
import { callsOf, lateCallsOf } from './entry-usage.ts';
import { parseUsageReport } from './parse-usage-report.ts';
import { ringUsageReport } from './ring-usage.ts';
import { addCalls, emptyWindow, subtractWindow } from './usage-window.ts';
import type { ModelCall } from './usage.ts';

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

describe('the usage of one entry', () => {
  test.each<[string, Partial<AuditEntry>, ModelCall[]]>([
    ['comes from the wire', { usage: WIRE }, [WIRE]],
    ['from the wire, where events report less', { usage: WIRE, events: [event('m', 1, 1)] }, [WIRE]],
    [
      'from its events, where they report more',
      { usage: WIRE, events: [event('m', 9, 9)] },
      [call('m', 9, 9)],
    ],
    [
      'from each call of the wire',
      { usage: { ...WIRE, totalTokens: 14, calls: [WIRE, call('n', 3, 4)] } },
      [WIRE, call('n', 3, 4)],
    ],
    [
      'from its events where the wire says nothing',
      {
        usage: { unavailable: 'gzip' },
        events: [event('m', 1, 2), { type: 'tool', name: 't' }, event('n', 3, 4)],
      },
      [call('m', 1, 2), call('n', 3, 4)],
    ],
    ['or is not known', { usage: { unavailable: 'gzip' } }, []],
    ['or there is none', {}, []],
  ])('%s', (_name, entry, expected) => {
    expect(callsOf(anEntry(entry))).toEqual(expected);
  });

  const { outcome: _, ...inFlight } = anEntry();
  test.each<[string, AuditEntry, BehavioralEvent[], ModelCall[]]>([
    [
      'adds to a completed entry without usage in its answer',
      anEntry(),
      [event('m', 1, 2)],
      [call('m', 1, 2)],
    ],
    [
      'adds to those that came before',
      anEntry({ events: [event('m', 1, 2)] }),
      [event('n', 3, 4)],
      [call('n', 3, 4)],
    ],
    ['adds nothing where the answer states more', anEntry({ usage: WIRE }), [event('m', 1, 2)], []],
    [
      'adds what it reports beyond the answer',
      anEntry({ usage: WIRE }),
      [event('m', 9, 5)],
      [call('m', 6, 1)],
    ],
    ['adds nothing to an entry in flight, which is counted when it ends', inFlight, [event('m', 1, 2)], []],
  ])('an event that comes late %s', (_name, entry, events, expected) => {
    expect(lateCallsOf(entry, applyEvents(entry, events))).toEqual(expected);
  });
});

test('the ring report sums by model and counts what is not known apart', () => {
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
    sampleSize: 3,
    callsWithoutUsage: 1,
  };
  expect(ringUsageReport(entries, { totalTokens: 0, totalCalls: 0 })).toEqual(report);
  const withoutRequest = { totalTokens: 0, totalCalls: 2 };
  expect(ringUsageReport(entries, withoutRequest)).toEqual({ ...report, withoutRequest });
});

describe('the usage window', () => {
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

  test('after a push is what came meanwhile', () => {
    const shipped = addCalls(emptyWindow(START), [WIRE, call('m', 1, 0)]);
    const grown = addCalls(shipped, [WIRE]);
    expect(subtractWindow(grown, shipped, LATER)).toEqual({
      windowStartedAt: LATER.toISOString(),
      models: [{ ...WIRE, callCount: 1 }],
      totalTokens: 7,
      totalCalls: 1,
    });
  });

  test('counts invented model names under one', () => {
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

  test('loses no call and counts none twice, whatever pushes fail', () => {
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
    ['without a price there is no cost', evening, undefined, { tokensToday: 1_500_000 }],
    ['a price makes a cost', evening, { input: 2, output: 8 }, { tokensToday: 1_500_000, costTodayUsd: 6 }],
    ['a new day begins with nothing', morning, { input: 2, output: 8 }, { tokensToday: 0, costTodayUsd: 0 }],
  ])('%s', (_name, at, price, expected) => {
    expect(totalsToday(day, at, price)).toEqual(expected);
  });

  test('the first call of a new day forgets the old one', () => {
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
  test('is read', () => {
    expect(parseUsageReport(report)).toEqual(report);
  });

  test.each<[string, unknown]>([
    ['another source', { ...report, source: 'audit-ring' }],
    ['a total that is no number', { ...report, totalTokens: '3' }],
    ['a negative count', { ...report, models: [{ ...model, callCount: -1 }] }],
    ['no object', 'usage'],
    ['fewer tokens than its models', { ...report, totalTokens: report.totalTokens - 1 }],
    ['more tokens than its models', { ...report, totalTokens: report.totalTokens + 1 }],
    ['0 tokens beside models that used some', { ...report, totalTokens: 0 }],
    ['fewer calls than its models', { ...report, totalCalls: report.totalCalls - 1 }],
    ['more calls than its models', { ...report, totalCalls: report.totalCalls + 1 }],
    ['tokens and no models', { ...report, models: [] }],
    [
      'a model whose total is less than its parts',
      { ...report, models: [{ ...model, promptTokens: model.totalTokens + 1 }] },
    ],
  ])('is none with %s', (_name, value) => {
    expect(parseUsageReport(value)).toBeNull();
  });

  test('keeps a hundred models of a report whose totals count more', () => {
    const models = Array.from({ length: 150 }, (_, index) => ({ ...model, modelId: `m${index}` }));
    const many = {
      ...report,
      models,
      totalTokens: 150 * model.totalTokens,
      totalCalls: 150 * model.callCount,
    };
    expect(parseUsageReport(many)).toEqual({ ...many, models: models.slice(0, 100) });
  });

  test('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(parseUsageReport(value)).toBeNull();
      }),
    );
  });
});
