import { REQUESTED_ID } from '../shapes/hidden-members.ts';
import type { BehavioralEvent } from '../shapes/events.ts';
import { MAX_TOKENS } from '../shapes/tokens.ts';
import type { AttributeValue, OtlpSpan } from './span.ts';
import { usageDetailsOf } from './usage-details.ts';
import { ATTRIBUTES, KINDS, type SpanField, type SpanKind } from './vocabulary.ts';

/** The evidence in one span. */
export interface SpanEvidence {
  kind: SpanKind;
  /** Nested spans with the same subject describe the same call. */
  subject: string;
  /** null: a run of an agent. */
  event: BehavioralEvent | null;
  /** Id of the model response or of the tool call; null: none. */
  callId: string | null;
  /** A model call with tokens. */
  hasUsage: boolean;
  agentName: string | null;
}

/** Semantic conventions put the name of a tool or an agent after the operation in the name of the span. */
const OPERATION = /^(execute_tool|invoke_agent)\s+/;
const MAX_LATENCY_MS = 1e12;

/** The evidence in a span. null: the span follows none of the conventions, or describes something else. */
export function evidenceOf(span: OtlpSpan): SpanEvidence | null {
  const kind = kindOf(span.attributes);
  if (kind === null || isReportedBySibling(span, kind)) return null;
  const none = { kind, callId: null, hasUsage: false, agentName: null };
  switch (kind) {
    case 'model':
      return { ...none, subject: kind, callId: textAt(span, 'callId'), ...modelCallOf(span) };
    case 'tool':
    case 'guardrail': {
      const name = textAt(span, `${kind}Name`) ?? nameOf(span);
      if (name === null) return null;
      const event: BehavioralEvent =
        kind === 'tool'
          ? { type: kind, name, success: !hasFailed(span), ...latencyOf(span), source: 'span' }
          : { type: kind, guardrailType: name, invoked: true, source: 'span' };
      const callId = kind === 'tool' ? textAt(span, 'callId') : null;
      return { ...none, subject: `${kind} ${name}`, event, callId };
    }
    default:
      return { ...none, subject: kind, event: null, agentName: textAt(span, 'agentName') ?? nameOf(span) };
  }
}

function kindOf(attributes: OtlpSpan['attributes']): SpanKind | null {
  for (const [attribute, kinds] of Object.entries(KINDS)) {
    const value = attributes.get(attribute);
    const kind = typeof value === 'string' && Object.hasOwn(kinds, value) ? kinds[value] : undefined;
    if (kind !== undefined) return kind;
  }
  return null;
}

/**
 * Logfire exports a span a second time under another id: as a placeholder at its start, and a model call with a stream as a log entry at
 * its end. The span of such a call ends before the stream, without usage and without the id of the response.
 */
function isReportedBySibling(span: OtlpSpan, kind: SpanKind): boolean {
  const type = textAt(span, 'logfireType');
  if (type === 'pending_span') return true;
  if (kind !== 'model' || type !== 'span' || hasFailed(span)) return false;
  const has = (attribute: string): boolean => span.attributes.has(attribute);
  return has('logfire.msg_template') && ![...ATTRIBUTES.promptTokens, ...ATTRIBUTES.callId].some(has);
}

/** Levels of OpenTelemetry logs from here are errors. */
const ERROR_LEVEL = 17;

function hasFailed(span: OtlpSpan): boolean {
  const level = firstAt(span, 'level', (value) => value);
  return span.isError || level === 'ERROR' || (typeof level === 'number' && level >= ERROR_LEVEL);
}

function modelCallOf(span: OtlpSpan): Pick<SpanEvidence, 'event' | 'hasUsage'> {
  const details = usageDetailsOf(textAt(span, 'usageDetails') ?? '');
  const promptTokens = tokensAt(span, 'promptTokens') || details.promptTokens;
  const completionTokens = tokensAt(span, 'completionTokens') || details.completionTokens;
  const total = tokensAt(span, 'totalTokens') || details.totalTokens;
  const modelId = textAt(span, 'model') ?? 'unknown';
  const requested = textAt(span, 'requestedModel') ?? modelId;
  const event: BehavioralEvent = {
    type: 'model',
    modelId,
    ...(requested !== modelId && { [REQUESTED_ID]: requested }),
    promptTokens,
    // The total can be larger than the sum, because some vendors count reasoning tokens only in the total.
    completionTokens: Math.max(completionTokens, total - promptTokens),
    source: 'span',
  };
  return { event, hasUsage: event.promptTokens + event.completionTokens > 0 };
}

function latencyOf({ startMs, endMs }: OtlpSpan): { latencyMs?: number } {
  const latencyMs = Math.round((endMs - startMs) * 10) / 10;
  return latencyMs >= 0 && latencyMs <= MAX_LATENCY_MS ? { latencyMs } : {};
}

function firstAt<T>(
  { attributes }: OtlpSpan,
  field: SpanField,
  accept: (value: AttributeValue) => T | null,
): T | null {
  for (const attribute of ATTRIBUTES[field]) {
    const value = attributes.get(attribute);
    const accepted = value === undefined ? null : accept(value);
    if (accepted !== null) return accepted;
  }
  return null;
}

function textAt(span: OtlpSpan, field: SpanField): string | null {
  return firstAt(span, field, (value) => (typeof value === 'string' ? plain(value) : null));
}

function nameOf({ name }: OtlpSpan): string | null {
  return plain(name.replace(OPERATION, ''));
}

/** Without the quotes of a text in JSON, as MLflow writes it. */
function plain(text: string): string | null {
  const bare = text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  return bare.trim() === '' ? null : bare;
}

/** An absent count, a fraction, a negative or a too large number count as 0. */
function tokensAt(span: OtlpSpan, field: SpanField): number {
  const isCount = (value: AttributeValue): value is number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_TOKENS;
  return firstAt(span, field, (value) => (isCount(value) ? value : null)) ?? 0;
}
