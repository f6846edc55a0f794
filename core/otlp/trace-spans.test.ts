import { beforeEach, describe, expect, test } from '@jest/globals';
import { spanIdOf, TRACE_ID } from '../../testing/sidecar/otlp-export.ts';
import type { AttributeValue, OtlpSpan } from './span.ts';
import { evidenceOf } from './span-evidence.ts';
import { MAX_SPANS, TraceSpans } from './trace-spans.ts';

let trace: TraceSpans;
beforeEach(() => {
  trace = new TraceSpans();
});

type Attributes = Record<string, AttributeValue>;

/** A span below another one; 0: a root span. */
function span(id: number, parent: number, attributes: Attributes = {}): OtlpSpan {
  return {
    ...{ traceId: TRACE_ID, spanId: spanIdOf(id), parentId: parent === 0 ? '' : spanIdOf(parent) },
    ...{ name: 'span', startMs: id, endMs: id + 1, isError: false },
    attributes: new Map(Object.entries(attributes)),
  };
}

const call = (tokens: number, responseId?: string): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.usage.input_tokens': tokens,
  ...(responseId !== undefined && { 'gen_ai.response.id': responseId }),
});
const tool = (name: string): Attributes => ({
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': name,
});

/** The ids of the spans that count, batch by batch. */
const counted = (...batches: readonly OtlpSpan[][]): number[][] =>
  batches.map((batch) => trace.add(batch, evidenceOf).map(({ span: { spanId } }) => parseInt(spanId, 16)));

describe('one model call', () => {
  test('counts for the innermost span of a batch', () => {
    expect(counted([span(1, 0, call(9)), span(2, 1), span(3, 2, call(9))])).toEqual([[3]]);
  });

  test('counts once if the outer span arrives later', () => {
    expect(counted([span(3, 2, call(9))], [span(2, 1), span(1, 0, call(9))])).toEqual([[3], []]);
  });

  test('counts once if a span between them arrives last', () => {
    expect(counted([span(3, 2, call(9))], [span(2, 1)], [span(1, 0, call(9))])).toEqual([[3], [], []]);
  });

  test('counts once if the inner span arrives later', () => {
    expect(counted([span(1, 0, call(9)), span(2, 1)], [span(3, 2, call(9))])).toEqual([[1], []]);
  });

  test('counts once for the same response id', () => {
    expect(
      counted([span(1, 0, call(9, 'r1'))], [span(2, 0, call(9, 'r1')), span(3, 0, call(9, 'r2'))]),
    ).toEqual([[1], [3]]);
  });

  test('counts for the span with tokens, in either order', () => {
    expect(counted([span(2, 1, call(0))], [span(1, 0, call(9))])).toEqual([[2], [1]]);
    trace = new TraceSpans();
    expect(counted([span(1, 0, call(0))], [span(2, 1, call(9))])).toEqual([[1], [2]]);
    trace = new TraceSpans();
    expect(counted([span(1, 0, call(9)), span(2, 1, call(0))])).toEqual([[1]]);
  });

  test('counts once if its span is delivered twice', () => {
    expect(counted([span(1, 0, call(9))], [span(1, 0, call(9))])).toEqual([[1], []]);
  });
});

test('several calls below one span all count', () => {
  expect(counted([span(2, 1, call(1)), span(3, 1, call(2))], [span(1, 0, call(3))])).toEqual([[2, 3], []]);
});

test('a tool and the model call in it both count', () => {
  expect(counted([span(1, 0, tool('search')), span(2, 1, call(1)), span(3, 1, tool('search'))])).toEqual([
    [2, 3],
  ]);
});

test('another tool in a tool counts', () => {
  expect(counted([span(1, 0, tool('search')), span(2, 1, tool('fetch'))])).toEqual([[1, 2]]);
});

test('spans that are above each other end the search', () => {
  expect(
    counted([span(1, 2, call(1)), span(2, 1, call(2)), span(3, 3, call(3))]).flat().length,
  ).toBeGreaterThan(0);
});

test('the oldest spans are forgotten', () => {
  const bytes: number[] = [];
  for (let id = 1; id <= 3 * MAX_SPANS; id += 100) {
    const pairs = Array.from({ length: 50 }, (_, index) => id + 2 * index);
    counted(pairs.flatMap((each) => [span(each, 0), span(each + 1, each, tool('search'))]));
    bytes.push(trace.bytes);
  }
  expect(new Set(bytes.slice(MAX_SPANS / 100 - 1)).size).toBe(1);
  expect(bytes[0]).toBeGreaterThan(0);
});

test('a deep chain of many tools takes bounded time', () => {
  const chain = Array.from({ length: 10_000 }, (_, index) => span(index + 1, index, tool(`tool ${index}`)));
  expect(counted(chain).flat()).toHaveLength(chain.length);
});
