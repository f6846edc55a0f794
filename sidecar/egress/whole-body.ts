import { encodedText } from '../../core/egress/body-text.ts';
import { ShortJson } from '../../core/egress/short-json.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import { after } from './after.ts';
import { countedBytes, HELD_PARTS, NOTHING, type BodyLimits, type BodyStep } from './body-step.ts';
import { readJsonBody, type JsonBody } from './json-body.ts';
import type { LaneCall, WholeStep } from './lane-call.ts';

/** A body that is read as one JSON document. Of a large one, parts pass that end with a long string. */
export class WholeBody {
  readonly #call: LaneCall;
  readonly #limits: BodyLimits;
  readonly #store = new ChunkStore();
  /** Of a large body. */
  #short: ShortJson | null = null;
  #reserved = 0;
  /** The rest passes as it arrives. */
  #isUnread = false;

  constructor(call: LaneCall, limits: BodyLimits) {
    this.#call = call;
    this.#limits = limits;
  }

  push(chunk: Buffer): BodyStep | Promise<BodyStep> {
    if (this.#isUnread) return { chunks: [chunk], isChanged: false };
    const { maxBytes, codings } = this.#limits;
    const store = this.#store;
    store.add(chunk);
    if (this.#short !== null) this.#short.add(chunk);
    else if (store.bytes > maxBytes && codings.length === 0) this.#shorten();
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

  end(): BodyStep | Promise<BodyStep> {
    if (this.#isUnread) return NOTHING;
    const raw = this.#store.take();
    const short = this.#short;
    if (raw.length === 0 && short === null) return NOTHING;
    const { codings, maxBytes } = this.#limits;
    const bytes = short === null ? raw : short.bytes;
    const body = readJsonBody(bytes, codings, maxBytes);
    if (body === 'too-large') return this.#passUnread(raw);
    return after(this.#call.whole(body, bytes), (step) => this.#done(step, body, raw));
  }

  #done(step: WholeStep, { encoding }: JsonBody, raw: Buffer): BodyStep {
    if ('respond' in step) return step;
    const { body: changed } = step;
    if (changed === null) return { chunks: [raw], isChanged: false };
    const short = this.#short;
    // The begin of the body has passed, so it cannot be changed any more.
    if (short !== null && short.passed > 0) return { respond: null };
    const plain = Buffer.isBuffer(changed) ? changed : encodedText(changed, encoding);
    const body = short === null ? plain : short.restore(String(changed), raw);
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
  #part(): BodyStep | Promise<BodyStep> {
    const { codings, maxBytes } = this.#limits;
    const part = codings.length > 0 ? null : (this.#short ?? this.#shorten()).part();
    if (part === null) return this.#passUnread(this.#store.take());
    if (part.prefix === null) return this.#pass(part.bytes);
    const prefix = readJsonBody(part.prefix, [], maxBytes);
    const response = prefix === 'too-large' ? null : (this.#call.part?.(prefix) ?? null);
    return after(response, (known) => (known === null ? this.#pass(part.bytes) : { respond: known }));
  }

  #pass(bytes: number): BodyStep {
    const held = this.#store.take();
    const rest = held.subarray(bytes);
    if (rest.length > 0) this.#store.add(rest);
    this.#reserve();
    return { chunks: [held.subarray(0, bytes)], isChanged: false };
  }

  /** What cannot be read passes, unless the lane fails closed. */
  #passUnread(held: Buffer): BodyStep {
    this.#isUnread = true;
    this.#limits.onUnread('size');
    this.#limits.keep(-this.#reserved);
    this.#reserved = 0;
    const denied = this.#call.unreadResponse();
    return denied === null ? { chunks: [held], isChanged: false } : { respond: denied };
  }
}
