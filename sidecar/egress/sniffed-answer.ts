import { formatOfStart, formatOfType, type AnswerFormat } from '../../core/egress/answer-format.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { HeaderList } from '../proxy/headers.ts';
import { AnswerBody, type AnswerLimits, type AnswerStep } from './answer-body.ts';
import { CodedStream, codingsOf, decodedBody } from './codings.ts';
import type { AnswerHead, LaneCall, OwnResponse, Treatment } from './lane-call.ts';
import { mediaTypeOf } from './lane-headers.ts';

const UNREAD: Treatment = { kind: 'unread' };
const NOTHING: AnswerStep = { chunks: [], isChanged: false };

/** A coded body begins to be decoded within these bytes. */
const MAX_START = 64 * 1024;

/** The body of a response. Clients read it whatever its type and coding are, so its first bytes decide how it is read. */
export class SniffedAnswer {
  readonly #head: Omit<AnswerHead, 'format'>;
  readonly #call: LaneCall | null;
  readonly #limits: AnswerLimits;
  /** The bytes until the decision. */
  readonly #start = new ChunkStore();
  /** null: not decided yet. */
  #body: AnswerBody | null = null;
  #isHeld = false;
  /** The body passes as it arrives, and the call reads a copy. */
  #isCopied = false;
  /** The type of the body decided, not its first bytes. */
  #isUnseen = false;
  /** Decodes a coded stream; null: there is nothing to decode. */
  #coded: CodedStream | null = null;

  /** `call` null: there is nothing to read. */
  constructor(
    { status, raw }: { status: number; raw: HeaderList },
    call: LaneCall | null,
    limits: Omit<AnswerLimits, 'codings'>,
  ) {
    this.#head = { status, contentType: mediaTypeOf(raw) };
    this.#call = call;
    this.#limits = { ...limits, codings: codingsOf(raw) };
    if (call === null) this.#read(UNREAD);
    // A stream of events may send nothing for a long time, so its head does not wait for the first bytes.
    else if (this.#limits.codings.length === 0 && formatOfType(this.#head.contentType) === 'sse') {
      this.#begin(call, 'sse');
      this.#isUnseen = this.isStream;
    }
  }

  get isStream(): boolean {
    return this.#body?.isStream === true;
  }

  /** The head can be sent before the body. */
  get isPassing(): boolean {
    return this.#body !== null && !this.#isHeld;
  }

  /** The body may not be the upstream's: it can be changed, or passes without its coding. */
  get isChanged(): boolean {
    return this.isStream && (!this.#isCopied || this.#coded !== null);
  }

  push(chunk: Buffer): AnswerStep | Promise<AnswerStep> {
    const [call, body] = [this.#call, this.#body];
    if (body !== null) return this.#push(body, chunk);
    this.#start.add(chunk);
    const start = this.#start.take();
    const format = this.#formatOf(start, start.length > MAX_START);
    if (format !== null && call !== null) return this.#pushStart(call, format, start);
    this.#start.add(start);
    return NOTHING;
  }

  end(): AnswerStep | Promise<AnswerStep> {
    const [call, body] = [this.#call, this.#body];
    if (body !== null) return this.#coded === null ? body.end() : this.#end(NOTHING);
    const start = this.#start.take();
    if (start.length === 0 || call === null) return NOTHING;
    return this.#end(this.#pushStart(call, this.#formatOf(start, true), start));
  }

  /** Ends the decoder: the response is over. */
  close(): void {
    this.#coded?.close();
  }

  async #end(first: AnswerStep | Promise<AnswerStep>): Promise<AnswerStep> {
    const [coded, body] = [this.#coded, this.#body];
    let step = await first;
    if (coded !== null && body !== null && !isLast(step))
      step = joined(step, await body.push(await coded.end()));
    return body === null || isLast(step) ? step : joined(step, await body.end());
  }

  #pushStart(
    call: LaneCall,
    format: AnswerFormat | 'none' | null,
    start: Buffer,
  ): AnswerStep | Promise<AnswerStep> {
    const denied = this.#begin(call, format === 'none' ? null : format);
    const { codings, maxBytes } = this.#limits;
    const [coding] = codings;
    if (coding !== undefined && this.isStream && formatOfStart(start) === 'none')
      this.#coded = new CodedStream(coding, start, maxBytes);
    if (denied !== null) return { respond: denied };
    return this.#body === null ? NOTHING : this.#push(this.#body, start);
  }

  #push(body: AnswerBody, chunk: Buffer): AnswerStep | Promise<AnswerStep> {
    if (this.#coded !== null)
      return this.#coded.push(chunk).then(async (plain) => changed(await body.push(plain)));
    if (!this.#isUnseen || chunk.length === 0) return body.push(chunk);
    this.#isUnseen = false;
    // Clients that did not request a stream read a document that has the type of one.
    return (
      formatOfStart(chunk) === 'json' ? this.#read({ kind: 'whole', isCopied: this.#isCopied }) : body
    ).push(chunk);
  }

  /** `none`: it is not read, such as a stream with several codings. null: not known yet. */
  #formatOf(start: Buffer, isWhole: boolean): AnswerFormat | 'none' | null {
    const { codings, maxBytes } = this.#limits;
    const known = formatOfType(this.#head.contentType);
    if (codings.length === 0 && known !== null) return known;
    const found = formatOfStart(start, isWhole);
    if (found !== 'none' || codings.length === 0) return found;
    const decoded = decodedBody(start, codings, maxBytes);
    const inside = Buffer.isBuffer(decoded) ? formatOfStart(decoded, isWhole) : (known ?? 'json');
    const format = inside === 'json' && known === 'ndjson' ? known : inside;
    return codings.length > 1 && format !== 'json' ? 'none' : format;
  }

  /** Returns the response in place of a body that cannot be read; null: the body passes. */
  #begin(call: LaneCall, format: AnswerFormat | null): OwnResponse | null {
    const treatment = call.head({ ...this.#head, format });
    this.#isCopied = treatment.kind !== 'unread' && treatment.isCopied === true;
    this.#isHeld =
      !this.#isCopied && (treatment.kind === 'whole' || (treatment.kind === 'frames' && treatment.isHeld));
    this.#read(treatment);
    if (treatment.kind !== 'unread' || treatment.reason === undefined) return null;
    this.#limits.onUnread(treatment.reason);
    return call.unreadAnswer();
  }

  #read(treatment: Treatment): AnswerBody {
    return (this.#body = new AnswerBody(treatment, this.#call, this.#limits));
  }
}

const isLast = (step: AnswerStep): boolean => 'respond' in step || step.isOver === true;

/** A body that passes without its coding is not the upstream's. */
const changed = (step: AnswerStep): AnswerStep => ('respond' in step ? step : { ...step, isChanged: true });

/** Two steps that pass together. */
function joined(first: AnswerStep, second: AnswerStep): AnswerStep {
  if ('respond' in first || 'respond' in second || first.chunks.length === 0) return second;
  const isChanged = first.isChanged || second.isChanged;
  const chunks = [...first.chunks, ...second.chunks];
  return { chunks, isChanged, ...(second.isOver === true && { isOver: true }) };
}
