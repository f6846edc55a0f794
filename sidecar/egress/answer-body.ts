import { encodedText, type Encoding } from '../../core/egress/body-text.ts';
import type { Frame } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames, type FrameSplitter } from '../../core/egress/sse-frames.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { Coding } from './codings.ts';
import { readJsonBody } from './json-body.ts';
import type { FramesStep, LaneCall, OwnResponse, Treatment, UnreadReason, WholeStep } from './lane-call.ts';

/** What passes now. `isChanged`: the body is not the upstream's; `length`: its length, if known. `isOver`: nothing follows. */
export type AnswerStep =
  | { chunks: readonly Buffer[]; isChanged: boolean; length?: number; isOver?: true }
  | { respond: OwnResponse };

export interface AnswerLimits {
  maxBytes: number;
  /** Codings of a body that is read as a whole. */
  codings: readonly Coding[];
  /** Reserves memory; false: there is none. */
  keep: (bytes: number) => boolean;
  /** Called when a body is not read. */
  onUnread(reason: UnreadReason): void;
}

/** Bytes of a stream that the memory of every call includes. */
const ORDINARY_BYTES = 16 * 1024;

/** The bytes that count towards the budget of the lanes. */
export const countedBytes = (heldBytes: number): number => Math.max(0, heldBytes - ORDINARY_BYTES);

const NOTHING: AnswerStep = { chunks: [], isChanged: false };

/** The body of the upstream's response on its way to the agent. */
export class AnswerBody {
  readonly #call: LaneCall | null;
  readonly #limits: AnswerLimits;
  readonly #splitter: FrameSplitter | null;
  /** The body so far; null: it is not collected. */
  #store: ChunkStore | null;
  /** Reserved bytes of an incomplete frame. */
  #framed = 0;
  /** A frame was not read. */
  #hasUnread = false;

  constructor(treatment: Treatment, call: LaneCall | null, limits: AnswerLimits) {
    this.#call = call;
    this.#limits = limits;
    this.#store = treatment.kind === 'whole' ? new ChunkStore() : null;
    this.#splitter =
      treatment.kind === 'frames'
        ? (treatment.format === 'sse' ? createSseFrames : createLineFrames)(limits.maxBytes)
        : null;
  }

  get isStream(): boolean {
    return this.#splitter !== null;
  }

  push(chunk: Buffer): AnswerStep | Promise<AnswerStep> {
    if (this.#splitter !== null) return this.#pushFrames(chunk, this.#splitter);
    if (this.#store === null) return { chunks: [chunk], isChanged: false };
    const store = this.#store;
    store.add(chunk);
    if (store.bytes <= this.#limits.maxBytes && this.#limits.keep(chunk.length)) return NOTHING;
    this.#store = null;
    return this.#passUnread(store.take());
  }

  end(): AnswerStep | Promise<AnswerStep> {
    if (this.#splitter !== null) return this.#filter(this.#splitter.end(), true);
    const raw = this.#store?.take();
    if (raw === undefined || raw.length === 0 || this.#call === null) return NOTHING;
    const body = readJsonBody(raw, this.#limits.codings, this.#limits.maxBytes);
    if (body === 'too-large') return this.#passUnread(raw);
    const step = this.#call.whole(body, raw);
    const pass = (known: WholeStep): AnswerStep => wholeStep(known, raw, body.encoding);
    return step instanceof Promise ? step.then(pass) : pass(step);
  }

  /** A body that is too large to be read. */
  #passUnread(raw: Buffer): AnswerStep {
    const denied = this.#unread();
    return denied === null ? { chunks: [raw], isChanged: false } : { respond: denied };
  }

  #unread(): OwnResponse | null {
    this.#limits.onUnread('size');
    return this.#call?.unreadAnswer() ?? null;
  }

  /** The frames that end in this chunk. Without memory for the next one, it passes unread. */
  #pushFrames(chunk: Buffer, splitter: FrameSplitter): AnswerStep | Promise<AnswerStep> {
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
    const denied = isUnread ? this.#unread() : null;
    if (denied !== null) return { respond: denied };
    return this.#filter(hasRoom ? frames : [...frames, ...splitter.skip()], false);
  }

  #filter(frames: readonly Frame[], isEnd: boolean): AnswerStep | Promise<AnswerStep> {
    if (this.#call === null || (frames.length === 0 && !isEnd)) return NOTHING;
    const step = this.#call.frames(frames, isEnd);
    return step instanceof Promise ? step.then(framesStep) : framesStep(step);
  }
}

function wholeStep(step: WholeStep, raw: Buffer, encoding: Encoding): AnswerStep {
  if ('respond' in step) return step;
  if (step.body === null) return { chunks: [raw], isChanged: false };
  const body = Buffer.isBuffer(step.body) ? step.body : encodedText(step.body, encoding);
  return { chunks: [body], isChanged: true, length: body.length };
}

function framesStep(step: FramesStep): AnswerStep {
  if ('respond' in step) return step;
  const chunks = step.frames.map(({ raw }) => raw);
  return { chunks, isChanged: true, ...(step.isOver === true && { isOver: true }) };
}
