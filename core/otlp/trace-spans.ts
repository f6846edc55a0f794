import { textBytes } from '../behavior/event-bytes.ts';
import type { OtlpSpan } from './span.ts';
import type { SpanEvidence } from './span-evidence.ts';

/** A span of a trace and the evidence that counts. */
export interface Counted {
  span: OtlpSpan;
  evidence: SpanEvidence;
}

/** Maximum levels over which nested spans are compared. */
const MAX_LEVELS = 64;
/** Spans of one trace that are remembered; the oldest are forgotten. */
export const MAX_SPANS = 1_000;
/** Call ids of one trace that are remembered. */
const MAX_CALLS = 1_000;
/** Subjects below one span that are remembered. */
const MAX_SUBJECTS = 32;

/** Bytes of a remembered span without its texts. */
const SPAN_BYTES = 300;

/** Suffix of the subject of a model call without tokens. */
const WEAK = ' without usage';

interface Known {
  parentId: string;
  /** Subject of this span if its evidence was counted; empty: it was not. */
  counted: string;
  /** Subjects that were counted below this span. */
  below: Set<string> | null;
}

/**
 * The spans of one trace, which arrive in any order. Nested spans with the same subject, such as the model call of a framework
 * around the model call of a client, count once: the innermost span of a batch, or the span that arrived first. Spans with the
 * same call id also count once. A span that is delivered twice counts once.
 */
export class TraceSpans {
  readonly #spans = new Map<string, Known>();
  readonly #calls = new Set<string>();
  #bytes = 0;

  /** Estimated memory in bytes. Spans can have long names, and a subject stays below a span whose inner span is forgotten. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the spans of one batch. Returns those whose evidence counts, in the order of their start. */
  add(batch: readonly OtlpSpan[], evidenceOf: (span: OtlpSpan) => SpanEvidence | null): Counted[] {
    for (const span of batch) this.#link(span);
    const found: Counted[] = [];
    for (const span of batch) {
      const evidence = evidenceOf(span);
      if (evidence !== null) found.push({ span, evidence });
    }
    const counted = this.#innermost(found).filter(({ span, evidence }) => this.#counts(span, evidence));
    this.#forget();
    return counted.sort((a, b) => a.span.startMs - b.span.startMs);
  }

  /** The span ids from the parent of a span upwards, as far as they are known. */
  ancestors(spanId: string): string[] {
    const path: string[] = [];
    let id = this.#spans.get(spanId)?.parentId ?? '';
    while (id !== '' && path.length < MAX_LEVELS) {
      path.push(id);
      id = this.#spans.get(id)?.parentId ?? '';
    }
    return path;
  }

  #link({ spanId, parentId }: OtlpSpan): void {
    const known = this.#known(spanId);
    if (known.parentId !== '' || parentId === '') return;
    known.parentId = parentId;
    if (known.counted !== '' && !known.counted.endsWith(WEAK)) this.#markAbove(spanId, known.counted);
    for (const subject of known.below ?? []) this.#markAbove(spanId, subject);
  }

  #known(spanId: string): Known {
    const found = this.#spans.get(spanId);
    if (found !== undefined) return found;
    const known: Known = { parentId: '', counted: '', below: null };
    this.#spans.set(spanId, known);
    this.#bytes += SPAN_BYTES;
    return known;
  }

  /** Spans with usage before those without, and inner spans before the spans around them. */
  #innermost(found: readonly Counted[]): Counted[] {
    const levels = new Map(found.map(({ span }) => [span, this.ancestors(span.spanId).length]));
    const level = ({ span }: Counted): number => levels.get(span) ?? 0;
    const rank = ({ evidence }: Counted): number => (evidence.hasUsage || evidence.kind !== 'model' ? 0 : 1);
    return found.toSorted((a, b) => rank(a) - rank(b) || level(b) - level(a));
  }

  #counts({ spanId }: OtlpSpan, evidence: SpanEvidence): boolean {
    if (evidence.kind === 'agent') return true;
    const known = this.#known(spanId);
    // Spans without usage do not hide the usage of others; each of them is hidden by a span with usage.
    const { subject } = evidence;
    const isWeak = evidence.kind === 'model' && !evidence.hasUsage;
    const own = isWeak ? `${subject}${WEAK}` : subject;
    if (known.counted !== '' || known.below?.has(subject) === true) return false;
    const call = evidence.callId === null ? null : `${subject} ${evidence.callId}`;
    if (call !== null && this.#calls.has(call)) return false;
    const hiding: readonly string[] = isWeak ? [subject, own] : [subject];
    if (this.ancestors(spanId).some((id) => hiding.includes(this.#spans.get(id)?.counted ?? '')))
      return false;
    known.counted = own;
    this.#bytes += textBytes(own);
    if (isWeak) return true;
    this.#markAbove(spanId, subject);
    if (call !== null && this.#calls.size < MAX_CALLS) {
      this.#calls.add(call);
      this.#bytes += textBytes(call);
    }
    return true;
  }

  #markAbove(spanId: string, subject: string): void {
    for (const id of this.ancestors(spanId)) {
      const known = this.#known(id);
      if (known.below?.has(subject) === true) return;
      known.below ??= new Set();
      if (known.below.size >= MAX_SUBJECTS) continue;
      known.below.add(subject);
      this.#bytes += textBytes(subject);
    }
  }

  #forget(): void {
    for (const [id, known] of this.#spans) {
      if (this.#spans.size <= MAX_SPANS) return;
      this.#spans.delete(id);
      this.#bytes -= bytesOf(known);
    }
  }
}

function bytesOf({ counted, below }: Known): number {
  let bytes = SPAN_BYTES;
  for (const text of [...(counted === '' ? [] : [counted]), ...(below ?? [])]) bytes += textBytes(text);
  return bytes;
}
