import type { BehavioralEvent } from '../../core/shapes/events.ts';
import { hasBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import type { OtlpSpan } from '../../core/otlp/span.ts';
import { evidenceOf, type SpanEvidence } from '../../core/otlp/span-evidence.ts';
import type { Counted } from '../../core/otlp/trace-spans.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { PolicyEvaluator } from '../policy/policy-evaluator.ts';
import { requestOf, type RequestTraces, type Trace } from './request-traces.ts';

/**
 * What became of a span. `recorded`: it was added to its request. `usage`: its tokens count without a request. `unmatched`: it
 * has evidence other than tokens, but no request. `repeated`: another span describes the same call. `other`: it has no evidence.
 */
export const SPAN_RESULTS = ['recorded', 'usage', 'unmatched', 'repeated', 'other'] as const;
type SpanResult = (typeof SPAN_RESULTS)[number];

export interface SpanRecorderOptions {
  audit: AuditLog;
  policy: Pick<PolicyEvaluator, 'review'>;
  traces: RequestTraces;
}

/** The evidence of the spans of one request. */
interface Reported {
  events: BehavioralEvent[];
  spans: number;
  agentName: string | null;
}

/** Records the evidence of spans in the entries of their requests. */
export class SpanRecorder {
  /** Spans since the start of the process. */
  readonly counts: Record<SpanResult, number> = {
    recorded: 0,
    usage: 0,
    unmatched: 0,
    repeated: 0,
    other: 0,
  };
  readonly #options: SpanRecorderOptions;

  constructor(options: SpanRecorderOptions) {
    this.#options = options;
  }

  /** Records the spans of one export. */
  record(spans: readonly OtlpSpan[]): void {
    const { traces } = this.#options;
    for (const [traceId, batch] of Map.groupBy(spans, (span) => span.traceId)) {
      const trace = traces.traceOf(traceId);
      const found = new Map(batch.map((span) => [span, evidenceOf(span)]));
      const counted = traces.withSpans(trace, (known) => known.add(batch, (span) => found.get(span) ?? null));
      const described = [...found.values()].filter((evidence) => evidence !== null).length;
      this.counts.other += batch.length - described;
      this.counts.repeated += described - counted.length;
      this.#recordTrace(trace, counted);
    }
  }

  #recordTrace(trace: Trace, counted: readonly Counted[]): void {
    for (const [requestId, group] of Map.groupBy(counted, ({ span }) => requestOf(trace, span))) {
      const evidence = group.map((each) => each.evidence);
      const isRecorded = requestId !== null && this.#recordRequest(requestId, reportedIn(evidence));
      if (!isRecorded) this.#recordUsage(evidence);
    }
  }

  /** Returns false if the audit ring does not contain the request. */
  #recordRequest(requestId: string, { events, spans, agentName }: Reported): boolean {
    const { audit, policy } = this.#options;
    const entry = audit.recordEvents({ requestId, events, ...(agentName !== null && { agentName }) });
    if (entry === null) return false;
    this.counts.recorded += spans;
    if (entry === 'full' || events.length === 0) return true;
    // Before the end of the response the report of a guardrail may still be missing, and its absence would be a denial.
    if (entry.outcome !== undefined && hasBehavior(entry)) void policy.review(entry);
    else audit.reviewed(entry, entry.policyViolations ?? []);
    return true;
  }

  #recordUsage(evidence: readonly SpanEvidence[]): void {
    const calls = evidence.filter(({ hasUsage }) => hasUsage);
    this.counts.usage += calls.length;
    this.counts.unmatched += evidence.length - calls.length;
    if (calls.length > 0) this.#options.audit.recordUsage(reportedIn(calls).events);
  }
}

function reportedIn(evidence: readonly SpanEvidence[]): Reported {
  return {
    events: evidence.flatMap(({ event }) => (event === null ? [] : [event])),
    spans: evidence.length,
    // The outermost agent began first.
    agentName: evidence.find((each) => each.agentName !== null)?.agentName ?? null,
  };
}
