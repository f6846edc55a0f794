import { randomUUID } from 'node:crypto';
import type { OtlpSpan } from '../../core/otlp/span.ts';
import { parseTraceparent, traceparentOf, type TraceContext } from '../../core/otlp/trace-context.ts';
import { TraceSpans } from '../../core/otlp/trace-spans.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import type { Clock } from '../../runtime/clock.ts';
import { valuesOf, type HeaderList } from '../proxy/headers.ts';

/** Traces of proxied requests that are remembered. */
const TRACES = { min: 1_000, max: 10_000 } as const;
/** Other traces that are remembered, so that a nested or repeated span counts once. */
const MAX_OTHERS = 1_000;
/** Requests of one trace: a client may call the agent several times in its trace. */
const MAX_REQUESTS = 100;
/** Remembered spans of all traces, about 300 bytes each. */
const MAX_SPANS = 20_000;

/** A proxied request in its trace. */
interface TracedRequest {
  requestId: string;
  /** The span of the caller. */
  parentId: string;
  arrivedAtMs: number;
}

/** A trace of one or more proxied requests, or of none. */
export interface Trace {
  readonly requests: TracedRequest[];
  spans: TraceSpans | null;
}

/** Finds the requests to which spans belong by their trace context. */
export class RequestTraces {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #capacity: number;
  readonly #traces = new Map<string, Trace>();
  readonly #others = new Map<string, Trace>();
  /** The traces with spans, oldest first, and the number of their spans. */
  readonly #withSpans = new Map<Trace, number>();
  #spans = 0;
  /** All traces that begin here have the same parent: its id must be unique only within a trace. */
  readonly #ownSpanId = newTraceId().slice(16);

  /** `ringSize`: the capacity of the audit ring. */
  constructor(clock: Pick<Clock, 'now'>, ringSize: number) {
    this.#clock = clock;
    this.#capacity = Math.min(Math.max(ringSize, TRACES.min), TRACES.max);
  }

  /**
   * Remembers the trace of a request. Returns the `traceparent` that the request gets; null: its own is valid and passes
   * unchanged.
   */
  join(raw: HeaderList, requestId: string): string | null {
    const sent = valuesOf(raw, 'traceparent');
    const [header = ''] = sent;
    const known = sent.length === 1 ? parseTraceparent(withoutBlanks(header)) : null;
    const context = known ?? { traceId: newTraceId(), parentId: this.#ownSpanId };
    this.#remember(context, requestId);
    return known === null ? traceparentOf(context) : null;
  }

  #remember({ traceId, parentId }: TraceContext, requestId: string): void {
    const request = { requestId, parentId, arrivedAtMs: this.#clock.now().getTime() };
    const trace = this.#traces.get(traceId);
    if (trace === undefined) {
      this.#set(this.#traces, traceId, { requests: [request], spans: null }, this.#capacity);
      return;
    }
    trace.requests.push(request);
    if (trace.requests.length > MAX_REQUESTS) trace.requests.shift();
  }

  /** The trace with this id. A trace without a proxied request has no requests. */
  traceOf(traceId: string): Trace {
    const known = this.#traces.get(traceId) ?? this.#others.get(traceId);
    if (known !== undefined) return known;
    const trace = { requests: [], spans: null };
    this.#set(this.#others, traceId, trace, MAX_OTHERS);
    return trace;
  }

  /** The request to which a call with this trace context belongs; null: none is known. */
  requestIdAt({ traceId, parentId }: TraceContext, at: Date): string | null {
    const trace = this.#traces.get(traceId);
    return trace === undefined
      ? null
      : requestOf(trace, { parentId, spanId: parentId, startMs: at.getTime() });
  }

  /** Calls `add` with the spans of a trace. Afterwards the oldest traces lose their spans if there are too many. */
  withSpans<T>(trace: Trace, add: (spans: TraceSpans) => T): T {
    const spans = (trace.spans ??= new TraceSpans());
    const result = add(spans);
    this.#spans += spans.size - (this.#withSpans.get(trace) ?? 0);
    this.#withSpans.set(trace, spans.size);
    for (const oldest of this.#withSpans.keys()) {
      if (this.#spans <= MAX_SPANS || oldest === trace) break;
      this.#forget(oldest);
    }
    return result;
  }

  #set(traces: Map<string, Trace>, traceId: string, trace: Trace, capacity: number): void {
    const [oldest] = traces.size < capacity ? [] : traces.values();
    setNewest(traces, [traceId, trace], capacity);
    if (oldest !== undefined) this.#forget(oldest);
  }

  #forget(trace: Trace): void {
    this.#spans -= this.#withSpans.get(trace) ?? 0;
    this.#withSpans.delete(trace);
    trace.spans = null;
  }
}

/**
 * The request to which a span belongs: the only request of the trace, else the request whose caller is above the span, else the
 * newest request that arrived before the span began. null: the trace has no request.
 */
export function requestOf(
  { requests, spans }: Trace,
  span: Pick<OtlpSpan, 'parentId' | 'spanId' | 'startMs'>,
): string | null {
  const [only] = requests;
  if (requests.length <= 1) return only?.requestId ?? null;
  const above = new Set([span.parentId, ...(spans?.ancestors(span.spanId) ?? [])]);
  const called = requests.filter(({ parentId }) => above.has(parentId));
  const candidates = called.length > 0 ? called : requests;
  const before = candidates.findLast(({ arrivedAtMs }) => arrivedAtMs <= span.startMs);
  return (before ?? candidates[0])?.requestId ?? null;
}

/** 32 hexadecimal digits, never only zeros. */
const newTraceId = (): string => randomUUID().replaceAll('-', '');
