import { beforeEach, describe, expect, test } from '@jest/globals';
import type { OtlpSpan } from '../../core/otlp/span.ts';
import { evidenceOf } from '../../core/otlp/span-evidence.ts';
import { parseTraceparent } from '../../core/otlp/trace-context.ts';
import { heldBytes } from '../../testing/http/held-bytes.ts';
import { spanIdOf, TRACE_ID } from '../../testing/sidecar/otlp-export.ts';
import { RequestTraces, requestOf } from './request-traces.ts';

let now: number;
let traces: RequestTraces;
beforeEach(() => {
  now = 1_000;
  traces = new RequestTraces({ now: () => new Date(now) }, 1);
});

const traceparent = (parent: number, traceId = TRACE_ID): string => `00-${traceId}-${spanIdOf(parent)}-00`;

function span(id: number, parent: number, startMs = 0): OtlpSpan {
  return {
    ...{ traceId: TRACE_ID, spanId: spanIdOf(id), parentId: parent === 0 ? '' : spanIdOf(parent) },
    ...{ name: 'span', startMs, endMs: startMs, isError: false, attributes: new Map() },
  };
}

const requestFor = (each: OtlpSpan): string | null => requestOf(traces.traceOf(each.traceId), each);

describe('a request', () => {
  test('with a valid traceparent keeps it', () => {
    expect(traces.join(['Traceparent', ` ${traceparent(7)} `], 'r1')).toBeNull();
    expect(requestFor(span(1, 7))).toBe('r1');
  });

  test.each([
    ['without a traceparent', []],
    ['with an invalid traceparent', ['traceparent', '00-0-0-00']],
    ['with two traceparents', ['traceparent', traceparent(1), 'traceparent', traceparent(1)]],
  ])('%s gets a sampled one', (_, headers) => {
    const created = traces.join(headers, 'r1') ?? '';
    expect(created).toMatch(/-01$/);
    const { traceId = '' } = parseTraceparent(created) ?? {};
    expect(requestFor({ ...span(1, 0), traceId })).toBe('r1');
  });

  test('gets a trace of its own', () => {
    expect(traces.join([], 'r1')).not.toBe(traces.join([], 'r2'));
  });
});

describe('a span of a trace with several requests belongs to the request', () => {
  beforeEach(() => {
    traces.join(['traceparent', traceparent(70)], 'r1');
    now = 2_000;
    traces.join(['traceparent', traceparent(80)], 'r2');
  });

  test('whose caller is its parent', () => {
    expect([requestFor(span(1, 70, 5_000)), requestFor(span(2, 80, 0))]).toEqual(['r1', 'r2']);
  });

  test('whose caller is above its parent', () => {
    const inner = span(2, 1, 5_000);
    traces.withSpans(traces.traceOf(TRACE_ID), (known) => known.add([inner, span(1, 70)], () => null));
    expect(requestFor(inner)).toBe('r1');
  });

  test('that arrived last before it began', () => {
    expect([1_500, 2_000, 0].map((startMs) => requestFor(span(9, 8, startMs)))).toEqual(['r1', 'r2', 'r1']);
  });
});

test('a traceparent with more fields does not stay in memory', () => {
  const more = 'x'.repeat(15_000);
  const held = heldBytes(() => {
    for (let index = 1; index <= 1_000; index += 1)
      traces.join(['traceparent', `${traceparent(index).replace('00', '01')}-${index}${more}`], `r${index}`);
  });
  expect(traces.traceOf(TRACE_ID).requests).toHaveLength(100);
  expect(held).toBeLessThan(5e5);
});

test('a span of another trace belongs to no request', () => {
  expect(requestFor(span(1, 0))).toBeNull();
});

test('the oldest traces are forgotten', () => {
  traces.join(['traceparent', traceparent(1)], 'r1');
  for (let index = 0; index < 999; index += 1) traces.join([], `other ${index}`);
  expect(requestFor(span(1, 0))).toBe('r1');
  traces.join([], 'one more');
  expect(requestFor(span(1, 0))).toBeNull();
});

test('the requests of the trace without a request for the longest time are forgotten', () => {
  const others = Array.from({ length: 9 }, (_, index) => index.toString(16).repeat(32));
  for (let index = 0; index < 100; index += 1) {
    traces.join(['traceparent', traceparent(1)], `r${index}`);
    for (const other of others.slice(1)) traces.join(['traceparent', traceparent(1, other)], `o${index}`);
  }
  // 900 requests: 100 more are remembered.
  for (let index = 0; index < 100; index += 1) traces.join([], `one ${index}`);
  expect(traces.traceOf(TRACE_ID).requests).toHaveLength(100);
  // The trace has the newest request now, with 100 requests as before.
  traces.join(['traceparent', traceparent(1)], 'newest');
  traces.join([], 'one more');
  expect(traces.traceOf(TRACE_ID).requests).toHaveLength(100);
  expect(traces.traceOf(others[1]!).requests).toHaveLength(0);
  expect(traces.traceOf(others[2]!).requests).toHaveLength(100);
});

test('traces without a request do not displace traces with one', () => {
  traces.join(['traceparent', traceparent(1)], 'r1');
  for (let index = 1; index < 3_000; index += 1) traces.traceOf(index.toString(16).padStart(32, '0'));
  expect(requestFor(span(1, 0))).toBe('r1');
});

test('the spans of the oldest traces are forgotten', () => {
  traces.join(['traceparent', traceparent(1)], 'r1');
  const first = traces.traceOf(TRACE_ID);
  traces.withSpans(first, (known) => known.add([span(1, 0)], () => null));
  for (let index = 1; index <= 25; index += 1)
    traces.withSpans(traces.traceOf(index.toString(16).padStart(32, '0')), (known) =>
      known.add(
        Array.from({ length: 1_000 }, (_, id) => span(id + 1, 0)),
        () => null,
      ),
    );
  expect(first.spans).toBeNull();
  expect(requestFor(span(1, 0))).toBe('r1');
});

test('spans with long names are forgotten sooner', () => {
  const long = (kind: string, id: number): string => `${kind} ${id}`.padEnd(500, '\u0416');
  /** Tools below spans that are not known themselves. */
  const toolsOf = (trace: number): OtlpSpan[] =>
    Array.from({ length: 2_000 }, (_, index) => {
      const id = 10_000 * trace + index;
      const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.call.id': long('call', id) };
      return {
        ...span(id, 1 + Math.floor(index / 32)),
        ...{ name: long('tool', id), attributes: new Map(Object.entries(attributes)) },
      };
    });
  const held = heldBytes(() => {
    for (let trace = 1; trace <= 20; trace += 1)
      traces.withSpans(traces.traceOf(trace.toString(16).padStart(32, '0')), (known) =>
        known.add(toolsOf(trace), evidenceOf),
      );
  });
  expect(held).toBeLessThan(12e6);
});
