import { formatOfStart, formatOfType, type AnswerFormat } from '../../core/egress/answer-format.ts';
import type { Frame } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames, type FrameSplitter } from '../../core/egress/sse-frames.ts';
import { readJson } from '../../core/egress/wires/exact-json.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { Coding } from './codings.ts';
import { readJsonBody } from './json-body.ts';
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
  | { kind: 'frames'; format: 'sse' | 'ndjson'; splitter: FrameSplitter; isHeld: boolean };

const collecting = (kind: 'start' | 'whole'): State => ({ kind, store: new ChunkStore() });

/** The head of a response with the codings of its body. */
export type CodedHead = Omit<AnswerHead, 'format'> & { codings: readonly Coding[] };

/** The body of the upstream's response on its way to the agent. */
export class AnswerBody {
  readonly #head: CodedHead;
  readonly #call: LaneCall | null;
  readonly #limits: AnswerLimits;
  #state: State = { kind: 'unread' };
  /** Reserved bytes of an incomplete frame. */
  #framed = 0;
  #isFirst = true;

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
      if (!this.#isDocument(chunk, state)) return this.#pushFrames(call, chunk, state.splitter);
      this.#state = collecting('whole');
      return this.push(chunk);
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
    if (state.kind === 'frames') return this.#filter(call, state.splitter.end(), true);
    const raw = state.store.take();
    if (raw.length === 0) return NOTHING;
    if (state.kind === 'whole') return this.#read(call, raw);
    const denied = this.#begin(call, this.#formatOf(raw, true));
    if (denied !== null) return { respond: denied };
    return this.isPassing ? { chunks: [raw], isChanged: false } : this.#read(call, raw);
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
    const denied = this.#begin(call, format);
    return denied === null ? this.push(start) : { respond: denied };
  }

  /** `none`: it is not read. A coded stream is not: the lane would have to hold it. null: not known yet. */
  #formatOf(start: Buffer, isWhole: boolean): AnswerFormat | 'none' | null {
    const { contentType, codings } = this.#head;
    const known = formatOfType(contentType);
    if (codings.length === 0 && known !== null) return known;
    const found = formatOfStart(start, isWhole);
    return found === 'none' && codings.length > 0 && known === null ? 'json' : found;
  }

  /** Returns the response in place of a body that cannot be read; null: the body passes. */
  #begin(call: LaneCall, found: AnswerFormat | 'none' | null): OwnResponse | null {
    const format = found === 'none' ? null : found;
    const treatment = call.head({ ...this.#head, format });
    if (treatment.kind === 'whole') this.#state = collecting('whole');
    else if (treatment.kind === 'frames') {
      const create = treatment.format === 'sse' ? createSseFrames : createLineFrames;
      this.#state = { ...treatment, splitter: create(this.#limits.maxBytes) };
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
      return step instanceof Promise ? step.then((late) => wholeStep(late, raw)) : wholeStep(step, raw);
    }
    const [firstLine = ''] = body.text.split('\n', 1);
    const isLines =
      isRecord(readJson(firstLine)) && call.head({ ...this.#head, format: 'ndjson' }).kind === 'frames';
    if (!isLines) return this.#passUnread(call, 'form', raw);
    const splitter = createLineFrames(maxBytes);
    const frames = splitter.push(body.isPlain ? raw : Buffer.from(body.text));
    return this.#filter(call, [...frames, ...splitter.end()], true);
  }

  /** Clients that did not request a stream read a document that has the type of one. */
  #isDocument(chunk: Buffer, { format }: { format: 'sse' | 'ndjson' }): boolean {
    const isFirst = this.#isFirst && chunk.length > 0;
    if (isFirst) this.#isFirst = false;
    return isFirst && format === 'sse' && formatOfStart(chunk) === 'json';
  }

  /** The frames that end in this chunk. Without memory for the next one, it passes unread. */
  #pushFrames(call: LaneCall, chunk: Buffer, splitter: FrameSplitter): AnswerStep | Promise<AnswerStep> {
    const frames = splitter.push(chunk);
    const more = countedBytes(splitter.heldBytes) - this.#framed;
    if (more === 0 || this.#limits.keep(more)) this.#framed += more;
    else {
      this.#limits.keep(-this.#framed);
      this.#framed = 0;
      const denied = this.#unread(call, 'size');
      if (denied !== null) return { respond: denied };
      frames.push(...splitter.skip());
    }
    return this.#filter(call, frames, false);
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

function wholeStep(step: WholeStep, raw: Buffer): AnswerStep {
  if ('respond' in step) return step;
  if (step.body === null) return { chunks: [raw], isChanged: false };
  const body = Buffer.from(step.body);
  return { chunks: [body], isChanged: true, length: body.length };
}

function framesStep(step: FramesStep): AnswerStep {
  if ('respond' in step) return step;
  const chunks = step.frames.map(({ raw }) => raw);
  return { chunks, isChanged: true, ...(step.isOver === true && { isOver: true }) };
}
