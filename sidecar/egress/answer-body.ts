import type { Frame } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames, type FrameSplitter } from '../../core/egress/sse-frames.ts';
import { jsonBodyOf } from '../../core/egress/wires/exact-json.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { FramesStep, LaneCall, OwnResponse, Treatment, UnreadReason, WholeStep } from './lane-call.ts';

/** What passes now. `isChanged`: the body is not the upstream's; `length`: its length, if known. `isOver`: nothing follows. */
export type AnswerStep =
  | { chunks: readonly Buffer[]; isChanged: boolean; length?: number; isOver?: true }
  | { respond: OwnResponse };

export interface AnswerLimits {
  maxBytes: number;
  /** Reserves memory; false: there is none. */
  keep: (bytes: number) => boolean;
  /** Called when a body is too large to be read. */
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
    if (this.#splitter !== null) return this.#filter(this.#framesOf(chunk, this.#splitter), false);
    if (this.#store === null) return { chunks: [chunk], isChanged: false };
    const store = this.#store;
    store.add(chunk);
    if (store.bytes <= this.#limits.maxBytes && this.#limits.keep(chunk.length)) return NOTHING;
    this.#limits.onUnread('size');
    this.#store = null;
    return { chunks: [store.take()], isChanged: false };
  }

  end(): AnswerStep | Promise<AnswerStep> {
    if (this.#splitter !== null) return this.#filter(this.#splitter.end(), true);
    const raw = this.#store?.take();
    if (raw === undefined || this.#call === null) return NOTHING;
    const step = this.#call.whole(jsonBodyOf(raw), raw);
    return step instanceof Promise ? step.then((late) => wholeStep(late, raw)) : wholeStep(step, raw);
  }

  /** The frames that end in this chunk. Without memory for the next one, it passes unread. */
  #framesOf(chunk: Buffer, splitter: FrameSplitter): readonly Frame[] {
    const frames = splitter.push(chunk);
    const more = countedBytes(splitter.heldBytes) - this.#framed;
    if (more === 0) return frames;
    if (this.#limits.keep(more)) {
      this.#framed += more;
      return frames;
    }
    this.#limits.onUnread('size');
    this.#limits.keep(-this.#framed);
    this.#framed = 0;
    return [...frames, ...splitter.skip()];
  }

  #filter(frames: readonly Frame[], isEnd: boolean): AnswerStep | Promise<AnswerStep> {
    if (this.#call === null || (frames.length === 0 && !isEnd)) return NOTHING;
    const step = this.#call.frames(frames, isEnd);
    return step instanceof Promise ? step.then(framesStep) : framesStep(step);
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
