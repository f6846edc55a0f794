import { isUnread, type Frame } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames, type FrameSplitter } from '../../core/egress/sse-frames.ts';
import { after } from './after.ts';
import { countedBytes, HELD_PARTS, NOTHING, type BodyLimits, type BodyStep } from './body-step.ts';
import type { FramesStep, LaneCall, Treatment } from './lane-call.ts';
import { WholeBody } from './whole-body.ts';

/** The body of the upstream's response on its way to the agent. */
export class ResponseBody {
  readonly #call: LaneCall | null;
  readonly #limits: BodyLimits;
  readonly #splitter: FrameSplitter | null;
  readonly #whole: WholeBody | null;
  /** Reserved bytes of an incomplete frame. */
  #framed = 0;
  /** The body passes as it arrives, and the call reads a copy. */
  #isCopied: boolean;

  constructor(treatment: Treatment, call: LaneCall | null, limits: BodyLimits) {
    this.#call = call;
    this.#limits = limits;
    this.#isCopied = treatment.kind !== 'unread' && treatment.isCopied === true;
    this.#whole = treatment.kind === 'whole' && call !== null ? new WholeBody(call, limits) : null;
    this.#splitter =
      treatment.kind === 'frames'
        ? (treatment.format === 'sse' ? createSseFrames : createLineFrames)(limits.maxBytes)
        : null;
  }

  push(chunk: Buffer): BodyStep | Promise<BodyStep> {
    const [isCopied, splitter] = [this.#isCopied, this.#splitter];
    const step =
      splitter === null
        ? (this.#whole?.push(chunk) ?? { chunks: [chunk], isChanged: false })
        : this.#filter(this.#framesOf(chunk, splitter), chunk);
    return isCopied ? withChunks(step, [chunk]) : step;
  }

  end(): BodyStep | Promise<BodyStep> {
    const [isCopied, splitter] = [this.#isCopied, this.#splitter];
    const step = splitter === null ? (this.#whole?.end() ?? NOTHING) : this.#filter(splitter.end(), null);
    return isCopied ? withChunks(step, []) : step;
  }

  /** The frames that end in this chunk, and the part of the next one for which there is no memory. */
  #framesOf(chunk: Buffer, splitter: FrameSplitter): readonly Frame[] {
    const frames = splitter.push(chunk);
    const { keep, maxBytes } = this.#limits;
    const more = countedBytes(splitter.heldBytes) - this.#framed;
    if (more !== 0 && (splitter.heldBytes > HELD_PARTS * maxBytes || !keep(more))) {
      frames.push(...splitter.part());
      keep(-this.#framed);
      this.#framed = 0;
    } else this.#framed += more;
    if (frames.some(isUnread)) this.#limits.onUnread('size');
    return frames;
  }

  /** `chunk`: in which the frames ended; null: the end of the body. */
  #filter(frames: readonly Frame[], chunk: Buffer | null): BodyStep | Promise<BodyStep> {
    if (this.#call === null || (frames.length === 0 && chunk !== null)) return NOTHING;
    return after(this.#call.frames(frames, chunk === null), (step) => this.#framesStep(step, chunk));
  }

  #framesStep(step: FramesStep, chunk: Buffer | null): BodyStep {
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
  step: BodyStep | Promise<BodyStep>,
  chunks: readonly Buffer[],
): BodyStep | Promise<BodyStep> {
  return after(step, () => ({ chunks, isChanged: false }));
}
