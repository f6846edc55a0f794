import type { Frame } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames, type FrameSplitter } from '../../core/egress/sse-frames.ts';
import { ShortJson } from '../../core/egress/short-json.ts';
import { jsonBodyOf } from '../../core/egress/wires/exact-json.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { FramesStep, LaneCall, OwnResponse, Treatment, UnreadReason, WholeStep } from './lane-call.ts';

/** What passes now. `isChanged`: the body is not the upstream's; `length`: its length, if known. `isOver`: nothing follows. */
export type AnswerStep =
  | { chunks: readonly Buffer[]; isChanged: boolean; length?: number; isOver?: true }
  /** null: the response has begun, and ends here, incomplete. */
  | { respond: OwnResponse | null };

export interface AnswerLimits {
  maxBytes: number;
  /** Reserves memory; false: there is none. */
  keep: (bytes: number) => boolean;
  /** Called when a body is too large to be read. */
  onUnread(reason: UnreadReason): void;
}

/** Bytes of a response that the memory of every call includes. */
const ORDINARY_BYTES = 16 * 1024;

/** A body or a frame that is larger than what is parsed is held up to this many times as much. */
const HELD_PARTS = 4;

/** The bytes that count towards the budget of the lanes. */
export const countedBytes = (heldBytes: number): number => Math.max(0, heldBytes - ORDINARY_BYTES);

const NOTHING: AnswerStep = { chunks: [], isChanged: false };

/** The body of the upstream's response on its way to the agent. */
export class AnswerBody {
  readonly #call: LaneCall | null;
  readonly #limits: AnswerLimits;
  readonly #splitter: FrameSplitter | null;
  readonly #whole: WholeBody | null;
  /** Reserved bytes of an incomplete frame. */
  #framed = 0;

  constructor(treatment: Treatment, call: LaneCall | null, limits: AnswerLimits) {
    this.#call = call;
    this.#limits = limits;
    this.#whole = treatment.kind === 'whole' && call !== null ? new WholeBody(call, limits) : null;
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
    return this.#whole?.push(chunk) ?? { chunks: [chunk], isChanged: false };
  }

  end(): AnswerStep | Promise<AnswerStep> {
    if (this.#splitter !== null) return this.#filter(this.#splitter.end(), true);
    return this.#whole?.end() ?? NOTHING;
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
    return frames;
  }

  #filter(frames: readonly Frame[], isEnd: boolean): AnswerStep | Promise<AnswerStep> {
    if (this.#call === null || (frames.length === 0 && !isEnd)) return NOTHING;
    const step = this.#call.frames(frames, isEnd);
    const done = (late: FramesStep): AnswerStep => {
      if ('frames' in late && late.frames.some(isUnread)) this.#limits.onUnread('size');
      return framesStep(late);
    };
    return step instanceof Promise ? step.then(done) : done(step);
  }
}

const isUnread = ({ part, data }: Frame): boolean => part !== undefined && data === null;

/** A body that is read as one JSON document. Of a large one, parts pass that end with a long string. */
class WholeBody {
  readonly #call: LaneCall;
  readonly #limits: AnswerLimits;
  readonly #store = new ChunkStore();
  /** Of a large body. */
  #short: ShortJson | null = null;
  #reserved = 0;
  /** The rest passes as it arrives. */
  #isUnread = false;

  constructor(call: LaneCall, limits: AnswerLimits) {
    this.#call = call;
    this.#limits = limits;
  }

  push(chunk: Buffer): AnswerStep | Promise<AnswerStep> {
    if (this.#isUnread) return { chunks: [chunk], isChanged: false };
    const { maxBytes } = this.#limits;
    const store = this.#store;
    store.add(chunk);
    if (this.#short !== null) this.#short.add(chunk);
    else if (store.bytes > maxBytes) this.#shorten();
    const isHeld = store.bytes <= HELD_PARTS * maxBytes && this.#short?.isTooLong !== true;
    return isHeld && this.#reserve() ? NOTHING : this.#part();
  }

  /** Reserves memory for what is held, or gives it back. false: there is none. */
  #reserve(): boolean {
    const bytes = countedBytes(this.#store.bytes);
    if (!this.#limits.keep(bytes - this.#reserved)) return false;
    this.#reserved = bytes;
    return true;
  }

  end(): AnswerStep | Promise<AnswerStep> {
    if (this.#isUnread) return NOTHING;
    const raw = this.#store.take();
    const short = this.#short;
    const text = short === null ? raw : short.bytes;
    const step = this.#call.whole(jsonBodyOf(text), text);
    const done = (late: WholeStep): AnswerStep => this.#done(late, raw);
    return step instanceof Promise ? step.then(done) : done(step);
  }

  #done(step: WholeStep, raw: Buffer): AnswerStep {
    if ('respond' in step) return step;
    if (step.body === null) return { chunks: [raw], isChanged: false };
    // The begin of the body has passed, so it cannot be changed any more.
    if ((this.#short?.passed ?? 0) > 0) return { respond: null };
    const body = this.#short?.restore(step.body, raw) ?? Buffer.from(step.body);
    return { chunks: [body], isChanged: true, length: body.length };
  }

  #shorten(): ShortJson {
    const held = this.#store.take();
    this.#store.add(held);
    const short = new ShortJson(this.#limits.maxBytes);
    short.add(held);
    this.#short = short;
    return short;
  }

  /** There is no room for the body: what passes of it now. */
  #part(): AnswerStep | Promise<AnswerStep> {
    const part = (this.#short ?? this.#shorten()).part();
    if (part?.prefix === null) return this.#pass(part.bytes);
    const prefix = part?.prefix ?? null;
    const response = this.#call.part?.(prefix === null ? undefined : jsonBodyOf(prefix)) ?? null;
    const done = (late: OwnResponse | null): AnswerStep => {
      if (late !== null) return { respond: late };
      if (part !== null) return this.#pass(part.bytes);
      this.#isUnread = true;
      this.#limits.onUnread('size');
      return this.#pass(Infinity);
    };
    return response instanceof Promise ? response.then(done) : done(response);
  }

  #pass(bytes: number): AnswerStep {
    const held = this.#store.take();
    const rest = held.subarray(bytes);
    if (rest.length > 0) this.#store.add(rest);
    this.#reserve();
    return { chunks: [held.subarray(0, bytes)], isChanged: false };
  }
}

function framesStep(step: FramesStep): AnswerStep {
  if ('respond' in step) return step;
  const chunks = step.frames.map(({ raw }) => raw);
  return { chunks, isChanged: true, ...(step.isOver === true && { isOver: true }) };
}
