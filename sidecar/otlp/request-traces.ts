import { randomUUID } from 'node:crypto';
import type { OtlpSpan } from '../../core/otlp/span.ts';
import { parseTraceparent, traceparentOf, type TraceContext } from '../../core/otlp/trace-context.ts';
import { TraceSpans } from '../../core/otlp/trace-spans.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import type { Clock } from '../../runtime/clock.ts';
import { valuesOf, type HeaderList } from '../proxy/headers.ts';

/** Proxied requests that are remembered, in all their traces. A request that left the audit ring has no entry for evidence. */
const REQUESTS = { min: 1_000, max: 10_000 } as const;
/** Other traces that are remembered, so that a nested or repeated span counts once. */
const MAX_OTHERS = 1_000;
/** Requests of one trace: a client may call the agent several times in its trace. */
const MAX_REQUESTS = 100;
/** Estimated memory of the remembered spans of all traces, in bytes: about 12,000 ordinary spans. */
const MAX_SPAN_BYTES = 6 * 1024 * 1024;

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
  /** In the order of their newest requests, the oldest first. */
  readonly #traces = new Map<string, Trace>();
  /**
   * Yields the oldest trace, which is then deleted. One iterator for all requests, because a new one passes the places of all
   * deleted traces: 12 us per request.
   */
  readonly #oldest = this.#traces.entries();
  /** Requests in `#traces`. */
  #requests = 0;
  readonly #others = new Map<string, Trace>();
  /** The traces with spans, oldest first, and the memory of their spans in bytes. */
  readonly #withSpans = new Map<Trace, number>();
  #spanBytes = 0;
  /** All traces that begin here have the same parent: its id must be unique only within a trace. */
  readonly #ownSpanId = newTraceId().slice(16);

  /** `ringSize`: the capacity of the audit ring. */
  constructor(clock: Pick<Clock, 'now'>, ringSize: number) {
    this.#clock = clock;
    this.#capacity = Math.min(Math.max(ringSize, REQUESTS.min), REQUESTS.max);
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
    const trace = this.#traces.get(traceId) ?? { requests: [], spans: null };
    trace.requests.push(request);
    if (trace.requests.length > MAX_REQUESTS) trace.requests.shift();
    else this.#requests += 1;
    this.#traces.delete(traceId);
    this.#traces.set(traceId, trace);
    while (this.#requests > this.#capacity) {
      const { value } = this.#oldest.next();
      // The trace of this request is still ahead of the iterator.
      if (value === undefined) return;
      const [id, oldest] = value;
      this.#traces.delete(id);
      this.#requests -= oldest.requests.length;
      this.#forget(oldest);
    }
  }

  /** The trace with this id. A trace without a proxied request has no requests. */
  traceOf(traceId: string): Trace {
    const known = this.#traces.get(traceId) ?? this.#others.get(traceId);
    if (known !== undefined) return known;
    const trace = { requests: [], spans: null };
    for (const oldest of setNewest(this.#others, [traceId, trace], MAX_OTHERS)) this.#forget(oldest);
    return trace;
  }

  /** The request to which a call with this trace context belongs; null: none is known. */
  requestIdAt({ traceId, parentId }: TraceContext, at: Date): string | null {
    const trace = this.#traces.get(traceId);
    return trace === undefined
      ? null
      : requestOf(trace, { parentId, spanId: parentId, startMs: at.getTime() });
  }

  /** Calls `add` with the spans of a trace. Afterwards the oldest traces lose their spans if they need too much memory. */
  withSpans<T>(trace: Trace, add: (spans: TraceSpans) => T): T {
    const spans = (trace.spans ??= new TraceSpans());
    const result = add(spans);
    this.#spanBytes += spans.bytes - (this.#withSpans.get(trace) ?? 0);
    this.#withSpans.set(trace, spans.bytes);
    for (const oldest of this.#withSpans.keys()) {
      if (this.#spanBytes <= MAX_SPAN_BYTES || oldest === trace) break;
      this.#forget(oldest);
    }
    return result;
  }

  #forget(trace: Trace): void {
    this.#spanBytes -= this.#withSpans.get(trace) ?? 0;
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
