import { formatOfStart, isSseType, type ResponseFormat } from '../../core/egress/response-format.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { HeaderList } from '../proxy/headers.ts';
import { ResponseBody } from './response-body.ts';
import { DecodedBody } from './response-decoder.ts';
import { NOTHING, type BodyLimits, type BodyStep } from './body-step.ts';
import { codingsOf, decodedBody } from './codings.ts';
import type { LaneHead, LaneCall, OwnResponse, Treatment } from './lane-call.ts';
import { mediaTypeOf } from './lane-headers.ts';

const UNREAD: Treatment = { kind: 'unread' };
const JSON_TYPE = 'application/json';
const NO_BYTES = Buffer.alloc(0);

/** With more bytes that do not decide, such as blanks, the type does. */
const MAX_START = 4 * 1024;

/** The body of a response. Clients read it whatever its type and coding are, so its first bytes decide how it is read. */
export class SniffedResponse {
  readonly #head: Omit<LaneHead, 'format'>;
  readonly #call: LaneCall | null;
  readonly #limits: BodyLimits;
  /** The bytes until the decision. */
  readonly #start = new ChunkStore();
  /** null: not decided yet. */
  #body: ResponseBody | DecodedBody | null = null;
  #isStream = false;
  /** The body has the codings that its head names. */
  #isCoded = false;
  #isHeld = false;
  /** The body passes as it arrives, and the call reads a copy. */
  #isCopied = false;
  /** The type of the body decided, not its first bytes. */
  #isUnseen = false;

  /** `call` null: there is nothing to read. */
  constructor(
    { status, raw }: { status: number; raw: HeaderList },
    call: LaneCall | null,
    limits: Omit<BodyLimits, 'codings'>,
  ) {
    this.#head = { status, contentType: mediaTypeOf(raw) };
    this.#call = call;
    this.#limits = { ...limits, codings: codingsOf(raw) };
    if (call === null) this.#body = new ResponseBody(UNREAD, null, this.#limits);
    // A stream of events may send nothing for a long time, so its head does not wait for the first bytes.
    else if (this.#limits.codings.length === 0 && isSseType(this.#head.contentType)) {
      this.#begin(call, 'sse', NO_BYTES);
      this.#isUnseen = this.#isStream;
    }
  }

  get isStream(): boolean {
    return this.#isStream;
  }

  /** The head can be sent before the body. */
  get isPassing(): boolean {
    return this.#body !== null && !this.#isHeld;
  }

  /** The body may not be the upstream's. */
  get isChanged(): boolean {
    return this.#isStream && !this.#isCopied;
  }

  push(chunk: Buffer): BodyStep | Promise<BodyStep> {
    const [call, body] = [this.#call, this.#body];
    if (body !== null && !this.#isUnseen) return body.push(chunk);
    this.#start.add(chunk);
    const start = this.#start.take();
    const format = this.#formatOf(start, false) ?? (start.length > MAX_START ? this.#usualFormat : null);
    if (format !== null && call !== null)
      return body === null ? this.#pushStart(call, format, start) : this.#pushFirst(body, format, start);
    this.#start.add(start);
    return NOTHING;
  }

  end(): BodyStep | Promise<BodyStep> {
    const [call, body, start] = [this.#call, this.#body, this.#start.take()];
    if (body !== null) return start.length === 0 ? body.end() : this.#endWith(body.push(start));
    if (start.length === 0 || call === null) return NOTHING;
    return this.#endWith(this.#pushStart(call, this.#formatOf(start, true), start));
  }

  /** Ends the decoder: the response is over. */
  close(): void {
    if (this.#body instanceof DecodedBody) this.#body.close();
  }

  async #endWith(started: BodyStep | Promise<BodyStep>): Promise<BodyStep> {
    const first = await started;
    if (this.#body === null || 'respond' in first || first.isOver === true) return first;
    const last = await this.#body.end();
    if ('respond' in last || first.chunks.length === 0) return last;
    return {
      ...last,
      isChanged: first.isChanged || last.isChanged,
      chunks: [...first.chunks, ...last.chunks],
    };
  }

  #pushStart(
    call: LaneCall,
    format: ResponseFormat | 'none' | null,
    start: Buffer,
  ): BodyStep | Promise<BodyStep> {
    const denied = this.#begin(call, format === 'none' ? null : format, start);
    if (denied !== null) return { respond: denied };
    return this.#body?.push(start) ?? NOTHING;
  }

  /** Of a body with the type of events. */
  #pushFirst(
    body: ResponseBody | DecodedBody,
    format: ResponseFormat | 'none',
    start: Buffer,
  ): BodyStep | Promise<BodyStep> {
    this.#isUnseen = false;
    if (format !== 'json') return body.push(start);
    // Clients that did not request a stream read a document that has the type of one.
    const whole = new ResponseBody({ kind: 'whole', isCopied: this.#isCopied }, this.#call, this.#limits);
    this.#body = whole;
    return whole.push(start);
  }

  /** A stream with several codings is not read event by event. */
  get #usualFormat(): ResponseFormat {
    return isSseType(this.#head.contentType) && this.#limits.codings.length < 2 ? 'sse' : 'json';
  }

  /** `none`: it is not read, such as a stream with several codings. null: not known yet. */
  #formatOf(start: Buffer, isWhole: boolean): ResponseFormat | 'none' | null {
    const { codings, maxBytes } = this.#limits;
    const decoded = decodedBody(start, codings, maxBytes);
    const coded = decoded === 'too-large' ? this.#usualFormat : formatOfStart(decoded ?? NO_BYTES, isWhole);
    // Brotli can begin like JSON, and a server can name a coding that the body does not have.
    this.#isCoded = decoded !== null && coded !== 'none';
    if (!this.#isCoded) return formatOfStart(start, isWhole);
    return codings.length > 1 && coded === 'sse' ? 'none' : coded;
  }

  /** Returns the response in place of a body that cannot be read; null: the body passes. */
  #begin(call: LaneCall, format: ResponseFormat | null, start: Buffer): OwnResponse | null {
    // A body with several codings is decoded when it is complete, so its lines are read as one document.
    const isWhole = this.#isCoded && this.#limits.codings.length > 1;
    const treatment = call.head({ ...this.#head, ...(isWhole && { contentType: JSON_TYPE }), format });
    const { kind } = treatment;
    this.#isStream = kind === 'frames';
    this.#isCopied = kind !== 'unread' && treatment.isCopied === true;
    this.#isHeld = !this.#isCopied && (kind === 'whole' || (kind === 'frames' && treatment.isHeld));
    this.#body = this.#bodyOf(treatment, start);
    if (kind !== 'unread' || treatment.reason === undefined) return null;
    this.#limits.onUnread(treatment.reason);
    return call.unreadResponse();
  }

  /** A stream cannot be held until its end, and a document is read in parts if it is large, so both are decoded as they arrive. */
  #bodyOf(treatment: Treatment, start: Buffer): ResponseBody | DecodedBody {
    const { codings } = this.#limits;
    const [coding] = codings;
    const isDecoded =
      treatment.kind === 'frames' || (treatment.kind === 'whole' && treatment.isDecoded === true);
    if (coding === undefined || codings.length > 1 || !isDecoded || !this.#isCoded)
      return new ResponseBody(treatment, this.#call, this.#limits);
    const plain = new ResponseBody(treatment, this.#call, { ...this.#limits, codings: [] });
    return new DecodedBody(plain, coding, start);
  }
}
