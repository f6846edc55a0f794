import { formatOfStart, formatOfType, type AnswerFormat } from '../../core/egress/answer-format.ts';
import { encodedText, type Encoding } from '../../core/egress/body-text.ts';
import type { Frame } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames, type FrameSplitter } from '../../core/egress/sse-frames.ts';
import { readJson } from '../../core/egress/wires/exact-json.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { HeaderList } from '../proxy/headers.ts';
import { CodedStream, codingsOf, decodedBody, type Coding } from './codings.ts';
import { readJsonBody } from './json-body.ts';
import { mediaTypeOf } from './lane-headers.ts';
import type { AnswerHead, FramesStep, LaneCall, OwnResponse, UnreadReason, WholeStep } from './lane-call.ts';

/** What passes now. `isChanged`: the body is not the upstream's; `length`: its length, if known. `isOver`: nothing follows. */
export type AnswerStep =
  | { chunks: readonly Buffer[]; isChanged: boolean; length?: number; isOver?: true }
  | { respond: OwnResponse };

export interface AnswerLimits {
  maxBytes: number;
  /** Reserves memory; false: there is none. */
  keep: (bytes: number) => boolean;
  /** Called when a body passes unread. */
  onUnread(reason: UnreadReason): void;
}

/** Bytes of a stream that the memory of every call includes. */
const ORDINARY_BYTES = 16 * 1024;

/** The bytes that count towards the budget of the lanes. */
export const countedBytes = (heldBytes: number): number => Math.max(0, heldBytes - ORDINARY_BYTES);

const NOTHING: AnswerStep = { chunks: [], isChanged: false };

type State =
  | { kind: 'unread' }
  /** `start`: the first bytes decide how the body is read. */
  | { kind: 'start' | 'whole'; store: ChunkStore }
  | Frames;

interface Frames {
  kind: 'frames';
  format: 'sse' | 'ndjson';
  splitter: FrameSplitter;
  isHeld: boolean;
}

const collecting = (kind: 'start' | 'whole'): State => ({ kind, store: new ChunkStore() });

/** The head of a response with the codings of its body. */
export type CodedHead = Omit<AnswerHead, 'format'> & { codings: readonly Coding[] };

export const codedHead = (status: number, raw: HeaderList): CodedHead => ({
  ...{ status, contentType: mediaTypeOf(raw), codings: codingsOf(raw) },
});

/** The body of the upstream's response on its way to the agent. */
export class AnswerBody {
  readonly #head: CodedHead;
  readonly #call: LaneCall | null;
  readonly #limits: AnswerLimits;
  #state: State = { kind: 'unread' };
  /** Reserved bytes of an incomplete frame. */
  #framed = 0;
  #isFirst = true;
  /** Decodes a coded stream; null: there is nothing to decode. */
  #coded: CodedStream | null = null;
  /** A frame was not read. */
  #hasUnread = false;

  /** `call` null: there is nothing to read. */
  constructor(head: CodedHead, call: LaneCall | null, limits: AnswerLimits) {
    this.#head = head;
    this.#call = call;
    this.#limits = limits;
    if (call === null) return;
    // A stream of events may send nothing for a long time, so its head does not wait for the first bytes.
    if (head.codings.length === 0 && formatOfType(head.contentType) === 'sse') this.#begin(call, 'sse');
    else this.#state = collecting('start');
  }

  get isStream(): boolean {
    return this.#state.kind === 'frames';
  }

  /** The head can be sent before the body. */
  get isPassing(): boolean {
    return this.#state.kind === 'unread' || (this.#state.kind === 'frames' && !this.#state.isHeld);
  }

  push(chunk: Buffer): AnswerStep | Promise<AnswerStep> {
    const [call, state] = [this.#call, this.#state];
    if (call === null || state.kind === 'unread') return { chunks: [chunk], isChanged: false };
    if (state.kind === 'frames') {
      if (this.#coded === null) return this.#pushPlain(call, chunk, state);
      return this.#coded.push(chunk).then((plain) => this.#pushPlain(call, plain, state));
    }
    const { kind, store } = state;
    store.add(chunk);
    if (store.bytes > this.#limits.maxBytes || !this.#limits.keep(chunk.length))
      return this.#passUnread(call, 'size', store.take());
    return kind === 'whole' ? NOTHING : this.#sniff(call, store);
  }

  end(): AnswerStep | Promise<AnswerStep> {
    const [call, state] = [this.#call, this.#state];
    if (call === null || state.kind === 'unread') return NOTHING;
    if (state.kind === 'frames') return this.#endFrames(call, state.splitter);
    const raw = state.store.take();
    if (raw.length === 0) return NOTHING;
    if (state.kind === 'whole') return this.#read(call, raw);
    const denied = this.#begin(call, this.#formatOf(raw, true));
    if (denied !== null) return { respond: denied };
    return this.isPassing ? { chunks: [raw], isChanged: false } : this.#read(call, raw);
  }

  /** Ends the decoder: the response is over. */
  close(): void {
    this.#coded?.close();
  }

  async #endCoded(call: LaneCall, splitter: FrameSplitter, coded: CodedStream): Promise<AnswerStep> {
    const rest = await coded.end();
    return this.#filter(call, [...splitter.push(rest), ...splitter.end()], true);
  }

  #endFrames(call: LaneCall, splitter: FrameSplitter): AnswerStep | Promise<AnswerStep> {
    if (this.#coded !== null) return this.#endCoded(call, splitter, this.#coded);
    return this.#filter(call, splitter.end(), true);
  }

  /** Decides by the first bytes. */
  #sniff(call: LaneCall, store: ChunkStore): AnswerStep | Promise<AnswerStep> {
    const start = store.take();
    const format = this.#formatOf(start, false);
    if (format === null) {
      store.add(start);
      return NOTHING;
    }
    this.#limits.keep(-start.length);
    const [coding, ...others] = this.#head.codings;
    const isCoded = formatOfStart(start) === 'none' && format !== 'json';
    if (isCoded && coding !== undefined && others.length === 0)
      this.#coded = new CodedStream(coding, start, this.#limits.maxBytes);
    const denied = this.#begin(call, format);
    return denied === null ? this.push(start) : { respond: denied };
  }

  /** `none`: it is not read, such as a stream with several codings. null: not known yet. */
  #formatOf(start: Buffer, isWhole: boolean): AnswerFormat | 'none' | null {
    const { contentType, codings } = this.#head;
    const known = formatOfType(contentType);
    if (codings.length === 0 && known !== null) return known;
    const found = formatOfStart(start, isWhole);
    if (found !== 'none' || codings.length === 0) return found;
    const decoded = decodedBody(start, codings, this.#limits.maxBytes);
    const isDecoded = Buffer.isBuffer(decoded);
    const inside = isDecoded ? formatOfStart(decoded, isWhole) : (known ?? 'json');
    const format = inside === 'json' && known === 'ndjson' ? known : inside;
    return codings.length > 1 && format !== 'json' ? 'none' : format;
  }

  /** Returns the response in place of a body that cannot be read; null: the body passes. */
  #begin(call: LaneCall, found: AnswerFormat | 'none' | null): OwnResponse | null {
    const format = found === 'none' ? null : found;
    const treatment = call.head({ ...this.#head, format });
    if (treatment.kind === 'whole') this.#state = collecting('whole');
    else if (treatment.kind === 'frames') {
      this.#state = { ...treatment, splitter: splitterOf(treatment.format, this.#limits.maxBytes) };
    } else {
      this.#state = { kind: 'unread' };
      if (treatment.reason !== undefined) return this.#unread(call, treatment.reason);
    }
    return null;
  }

  #read(call: LaneCall, raw: Buffer): AnswerStep | Promise<AnswerStep> {
    const { maxBytes } = this.#limits;
    const body = readJsonBody(raw, this.#head.codings, maxBytes);
    if (body === 'too-large') return this.#passUnread(call, 'size', raw);
    if (body.value !== undefined) {
      const step = call.whole(body, raw);
      const pass = (known: WholeStep): AnswerStep => wholeStep(known, raw, body.encoding);
      return step instanceof Promise ? step.then(pass) : pass(step);
    }
    const format = streamIn(body.text);
    if (format === null || call.head({ ...this.#head, format }).kind !== 'frames')
      return this.#passUnread(call, 'form', raw);
    const splitter = splitterOf(format, maxBytes);
    const frames = splitter.push(body.bytes);
    return this.#filter(call, [...frames, ...splitter.end()], true);
  }

  #pushPlain(call: LaneCall, chunk: Buffer, { format, splitter }: Frames): AnswerStep | Promise<AnswerStep> {
    if (chunk.length === 0) return NOTHING;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    // Clients that did not request a stream read a document that has the type of one.
    if (!isFirst || this.#coded !== null || format !== 'sse' || formatOfStart(chunk) !== 'json')
      return this.#pushFrames(call, chunk, splitter);
    this.#state = collecting('whole');
    return this.push(chunk);
  }

  /** The frames that end in this chunk. Without memory for the next one, it passes unread. */
  #pushFrames(call: LaneCall, chunk: Buffer, splitter: FrameSplitter): AnswerStep | Promise<AnswerStep> {
    const frames = splitter.push(chunk);
    const more = countedBytes(splitter.heldBytes) - this.#framed;
    const hasRoom = more === 0 || this.#limits.keep(more);
    if (hasRoom) this.#framed += more;
    else {
      this.#limits.keep(-this.#framed);
      this.#framed = 0;
    }
    const isUnread = !hasRoom || (!this.#hasUnread && frames.some((frame) => frame.isUnread));
    this.#hasUnread ||= isUnread;
    const denied = isUnread ? this.#unread(call, 'size') : null;
    if (denied !== null) return { respond: denied };
    return this.#filter(call, hasRoom ? frames : [...frames, ...splitter.skip()], false);
  }

  #filter(call: LaneCall, frames: readonly Frame[], isEnd: boolean): AnswerStep | Promise<AnswerStep> {
    if (frames.length === 0 && !isEnd) return NOTHING;
    const step = call.frames(frames, isEnd);
    return step instanceof Promise ? step.then(framesStep) : framesStep(step);
  }

  #passUnread(call: LaneCall, reason: UnreadReason, raw: Buffer): AnswerStep {
    this.#state = { kind: 'unread' };
    const denied = this.#unread(call, reason);
    return denied === null ? { chunks: [raw], isChanged: false } : { respond: denied };
  }

  #unread(call: LaneCall, reason: UnreadReason): OwnResponse | null {
    this.#limits.onUnread(reason);
    return call.unreadAnswer();
  }
}

const splitterOf = (format: 'sse' | 'ndjson', maxBytes: number): FrameSplitter =>
  (format === 'sse' ? createSseFrames : createLineFrames)(maxBytes);

/** The format of a body that is not one document; null: no stream. */
function streamIn(text: string): 'sse' | 'ndjson' | null {
  const [firstLine = ''] = text.split('\n', 1);
  if (isRecord(readJson(firstLine))) return 'ndjson';
  return formatOfStart(Buffer.from(firstLine.slice(0, 64))) === 'sse' ? 'sse' : null;
}

function wholeStep(step: WholeStep, raw: Buffer, encoding: Encoding): AnswerStep {
  if ('respond' in step) return step;
  if (step.body === null) return { chunks: [raw], isChanged: false };
  const body = encodedText(step.body, encoding);
  return { chunks: [body], isChanged: true, length: body.length };
}

function framesStep(step: FramesStep): AnswerStep {
  if ('respond' in step) return step;
  const chunks = step.frames.map(({ raw }) => raw);
  return { chunks, isChanged: true, ...(step.isOver === true && { isOver: true }) };
}
