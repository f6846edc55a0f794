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
  /** The body passes as it arrives, and the call reads a copy. */
  #isCopied: boolean;

  constructor(treatment: Treatment, call: LaneCall | null, limits: AnswerLimits) {
    this.#call = call;
    this.#limits = limits;
    this.#isCopied = treatment.kind !== 'unread' && treatment.isCopied === true;
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
    const isCopied = this.#isCopied;
    const step = this.#splitter === null ? this.#collect(chunk) : this.#pushFrames(chunk, this.#splitter);
    return isCopied ? withChunks(step, [chunk]) : step;
  }

  end(): AnswerStep | Promise<AnswerStep> {
    const isCopied = this.#isCopied;
    const step = this.#splitter === null ? this.#read() : this.#filter(this.#splitter.end(), null);
    return isCopied ? withChunks(step, []) : step;
  }

  #collect(chunk: Buffer): AnswerStep {
    const store = this.#store;
    if (store === null) return { chunks: [chunk], isChanged: false };
    const kept = store.bytes;
    store.add(chunk);
    if (store.bytes <= this.#limits.maxBytes && this.#limits.keep(chunk.length)) return NOTHING;
    this.#store = null;
    if (this.#isCopied) this.#limits.keep(-kept);
    return this.#passUnread(store.take());
  }

  #read(): AnswerStep | Promise<AnswerStep> {
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
    return this.#filter(hasRoom ? frames : [...frames, ...splitter.skip()], chunk);
  }

  /** `chunk`: in which the frames ended; null: the end of the body. */
  #filter(frames: readonly Frame[], chunk: Buffer | null): AnswerStep | Promise<AnswerStep> {
    if (this.#call === null || (frames.length === 0 && chunk !== null)) return NOTHING;
    const step = this.#call.frames(frames, chunk === null);
    if (step instanceof Promise) return step.then((late) => this.#framesStep(late, chunk));
    return this.#framesStep(step, chunk);
  }

  #framesStep(step: FramesStep, chunk: Buffer | null): AnswerStep {
    if ('respond' in step) return step;
    const chunks = step.frames.map(({ raw }) => raw);
    const begun = this.#splitter?.heldBytes ?? 0;
    this.#isCopied ||= step.isCopied === true;
    // The begin of the next frame does not wait for its end.
    if (this.#isCopied && chunk !== null && begun > 0) chunks.push(chunk.subarray(-begun));
    return { chunks, isChanged: true, ...(step.isOver === true && { isOver: true }) };
  }
}

/** The step of a copy, with the bytes that pass. */
function withChunks(
  step: AnswerStep | Promise<AnswerStep>,
  chunks: readonly Buffer[],
): AnswerStep | Promise<AnswerStep> {
  const passed: AnswerStep = { chunks, isChanged: false };
  return step instanceof Promise ? step.then(() => passed) : passed;
}

function wholeStep(step: WholeStep, raw: Buffer, encoding: Encoding): AnswerStep {
  if ('respond' in step) return step;
  if (step.body === null) return { chunks: [raw], isChanged: false };
  const body = Buffer.isBuffer(step.body) ? step.body : encodedText(step.body, encoding);
  return { chunks: [body], isChanged: true, length: body.length };
}
