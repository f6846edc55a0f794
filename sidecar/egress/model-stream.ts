import type {
  Frame,
  JudgeCall,
  ModelResponse,
  ModelWire,
  StreamFilter,
  ToolCall,
} from '../../core/egress/model-wire.ts';
import { readJson } from '../../core/egress/wires/exact-json.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import { countedBytes } from './body-step.ts';
import type { FramesStep, OwnResponse } from './lane-call.ts';
import type { ToolDecisions } from './tool-decisions.ts';

export interface ModelStreamOptions {
  wire: ModelWire;
  decisions: ToolDecisions;
  removeUsage: boolean;
  /** The engine responds later: every call is evaluated before its frame is filtered. */
  isEngineRemote: boolean;
  /** A forbidden call ends the response instead of being removed. The response is held until then, or until its end. */
  isFailing: boolean;
  keep: (bytes: number) => boolean;
  /** true: a forbidden call does not reach the agent. */
  blocks: boolean;
  /** true: what cannot be read does not reach the agent. */
  failsClosed: boolean;
  /** Called when the response ends because a part of it cannot be read. */
  onUnread(): void;
  deny(): OwnResponse;
  /** The last frame of a response that cannot be held any longer. */
  errorFrame(): string;
}

/** Text for the agent instead of the last forbidden call. */
export const REMOVED = 'The policy of this agent removed the call of a tool.';
const END_OF_FRAME = '\n\n';

/** The stream of a model's response, without the forbidden calls. */
export class ModelStream {
  readonly #options: ModelStreamOptions;
  readonly #filter: StreamFilter;
  /** Reads the calls of each frame before the filter does; null: the decisions are known at once. */
  readonly #lookahead: StreamFilter | null;
  /** Frames of a held response; null: frames pass. */
  #held: Frame[] | null;
  #heldBytes = 0;
  /** Reserved bytes of the frames that the filter holds. */
  #filtered = 0;
  /** Forbidden calls of the part that ended the response. */
  #denied: readonly ToolCall[] = [];
  /** The last frame is not complete. */
  #isCut = false;

  constructor(options: ModelStreamOptions) {
    const { wire, decisions, removeUsage } = options;
    this.#options = options;
    this.#filter = wire.createFilter({ judge: decisions.judge, removeUsage, message: REMOVED });
    this.#lookahead = options.isEngineRemote ? probeOf(wire, decisions.collect) : null;
    this.#held = options.isFailing ? [] : null;
  }

  get response(): ModelResponse {
    const { response } = this.#filter;
    return this.#denied.length === 0
      ? response
      : { ...response, toolCalls: [...response.toolCalls, ...this.#denied] };
  }

  get hasRemoved(): boolean {
    return this.#filter.removed.length > 0;
  }

  push(frames: readonly Frame[], isEnd: boolean): FramesStep | Promise<FramesStep> {
    for (const frame of frames)
      if (frame.part !== 'begin') this.#lookahead?.push(frame);
      else if (this.#lookahead !== null) this.#probe(frame, this.#options.decisions.collect);
    if (isEnd) this.#lookahead?.end();
    const { pending } = this.#options.decisions;
    return pending === null ? this.#pass(frames, isEnd) : pending.then(() => this.#pass(frames, isEnd));
  }

  /** Gives the memory of held frames back. */
  close(): void {
    const bytes = this.#heldBytes + this.#filtered;
    if (bytes > 0) this.#options.keep(-bytes);
    [this.#heldBytes, this.#filtered] = [0, 0];
    this.#held = null;
  }

  #pass(frames: readonly Frame[], isEnd: boolean): FramesStep {
    const passed: Frame[] = [];
    for (const frame of frames) {
      const filtered = this.#read(frame);
      if (filtered === null || this.#isForbidden) return this.#fail(passed);
      passed.push(...filtered, ...this.#reserve());
      if (this.#isForbidden) return this.#fail(passed);
    }
    if (isEnd) {
      const rest = this.#filter.end();
      if (this.#isForbidden) return this.#fail(passed);
      passed.push(...rest);
    }
    return { frames: this.#held === null ? passed : this.#hold(this.#held, passed, isEnd) };
  }

  /** The frames to send now; null: the response must end. A frame whose begin has passed cannot be changed any more. */
  #read(frame: Frame): readonly Frame[] | null {
    if (frame.part === 'begin') {
      this.#isCut = true;
      return this.#mayBegin(frame) ? [frame] : null;
    }
    const { length } = this.#filter.removed;
    const filtered = this.#filter.push(frame);
    if (frame.part === undefined) return filtered;
    this.#isCut = filtered.length === 0 || this.#filter.removed.length > length;
    return this.#isCut ? null : [frame];
  }

  /** After a removal, the event may have the removed call. */
  #mayBegin(frame: Frame): boolean {
    const { blocks, failsClosed, decisions } = this.#options;
    if (!blocks) return true;
    const isRead = frame.data !== null && isRecord(readJson(frame.data));
    if (!isRead && failsClosed) this.#options.onUnread();
    if (this.hasRemoved || this.#filter.heldBytes > 0) return false;
    if (!isRead) return !failsClosed;
    this.#denied = this.#probe(frame, decisions.judge);
    return this.#denied.length === 0;
  }

  /** Reads the begin of a frame on its own. Returns its forbidden calls. */
  #probe({ raw, event, data }: Frame, judge: JudgeCall): readonly ToolCall[] {
    const filter = probeOf(this.#options.wire, judge);
    filter.push({ raw, event, data });
    filter.end();
    return filter.removed;
  }

  /** Reserves memory for the frames that the filter holds. Without memory, the held calls are removed: the frames to send now. */
  #reserve(): readonly Frame[] {
    const more = countedBytes(this.#filter.heldBytes) - this.#filtered;
    const hasRoom = more === 0 || this.#options.keep(more);
    const frames = hasRoom ? [] : this.#filter.release();
    if (hasRoom) this.#filtered += more;
    else {
      this.#options.keep(-this.#filtered);
      this.#filtered = 0;
    }
    return frames;
  }

  /** The frames to send now. Without memory for them, the held frames are sent, and the rest of the response passes. */
  #hold(held: Frame[], frames: readonly Frame[], isEnd: boolean): readonly Frame[] {
    const bytes = frames.reduce((sum, { raw }) => sum + raw.length, 0);
    held.push(...frames);
    const hasRoom = this.#options.keep(bytes);
    if (hasRoom) this.#heldBytes += bytes;
    if (hasRoom && !isEnd) return [];
    this.close();
    return held;
  }

  get #isForbidden(): boolean {
    return this.#options.isFailing && this.hasRemoved;
  }

  #fail(passed: readonly Frame[]): FramesStep {
    if (this.#held !== null) return { respond: this.#options.deny() };
    const raw = Buffer.from((this.#isCut ? END_OF_FRAME : '') + this.#options.errorFrame());
    const error: Frame = { raw, event: null, data: null };
    return { frames: [...passed, error], isOver: true };
  }
}

/** A filter whose frames are not sent. */
function probeOf(wire: ModelWire, judge: JudgeCall): StreamFilter {
  return wire.createFilter({ judge, removeUsage: false, message: REMOVED });
}
