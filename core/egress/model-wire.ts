import type { ModelUsage } from '../shapes/egress-call.ts';
import type { WireName } from '../vendors/vendor.ts';
import type { ShortJson } from './short-json.ts';

export type { ModelUsage, WireName };

/** A parsed JSON object from outside. Read its members with `own` (`core/untrusted/fields.ts`). */
export type Json = Readonly<Record<string, unknown>>;

/** A call, in a model's response, of a tool that the agent runs. Calls of tools that the vendor runs are not listed. */
export interface ToolCall {
  id: string | null;
  /** At most 256 UTF-16 units; longer names are cut. */
  name: string;
  /** JSON text, or the plain text of a `custom` tool of OpenAI. null: not complete, removed before its arguments, or too long. */
  arguments: string | null;
}

/** Facts of a request. */
export interface ModelRequest {
  /** From the path, else from the body; null: in neither. A vendor with a model in the path ignores the body's. */
  model: string | null;
  isStream: boolean;
  /** Names of the tools that the request offers and the agent runs, without repetitions. */
  toolsOffered: string[];
  /** Tools that the vendor runs (`web_search`, `mcp:<label>`, `code_interpreter`, ...): can only be stopped at the request. */
  vendorTools: string[];
  /**
   * Results that this request adds: those after the last message of the model, because a request repeats the whole conversation.
   * The agent ran these tools. `name` null: only the id of the call is in the request.
   */
  toolResults: { callId: string | null; name: string | null }[];
  /** Tokens; null: the request has no limit. */
  maxOutputTokens: number | null;
  /** The vendor keeps the conversation (`previous_response_id`, `conversation`): a forbidden call cannot be removed, only refused. */
  isStateful: boolean;
}

/** Facts of a response, including the calls that were removed from it. */
export interface ModelResponse {
  /** null: the protocol has no model in its responses (Cohere), or it was not received. */
  model: string | null;
  /** At most 1,000. */
  toolCalls: ToolCall[];
  /** null: not received, or invalid. */
  usage: ModelUsage | null;
  /** The model finished: a stream that is cut is not complete. */
  isComplete: boolean;
}

/** What to do with one tool call of a response. `hold`: the arguments are needed; asked again with them. */
export type CallDecision = 'pass' | 'remove' | 'hold';

/**
 * Decides about a call. In streams it is called at the call's first event with `arguments` null, and, after `hold`, again at
 * the call's end with the arguments. If the arguments are known from the start, it is called once with them. A second `hold`,
 * and a `hold` for arguments that cannot be read, count as `remove`. It must not throw.
 */
export type JudgeCall = (call: ToolCall) => CallDecision;

export interface FilterOptions {
  judge: JudgeCall;
  /** Text for the agent instead of the removed calls, if none is left. */
  message: string;
  /** Takes the usage out again that `prepare` requested. */
  removeUsage: boolean;
}

/**
 * How the egress lanes read and change the traffic between an agent and a vendor of models, for one protocol (`core/egress/wires`). A
 * wire is pure: it gets parsed JSON or frames and returns facts, JSON or frames. It never throws, and it returns what it does not
 * understand unchanged.
 */
export interface ModelWire {
  name: WireName;
  /** `model` and `isStream`: from the path, where the vendor has them there (Gemini; the model of Azure deployments). */
  readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest;
  /**
   * The body with what the lane needs in the response (chat streams: `stream_options.include_usage`); null: unchanged. The
   * caller must not use it for vendors that reject the option (Mistral, which always sends the usage). Absent: nothing is needed.
   */
  prepare?: (body: Json) => Json | null;
  readResponse(body: Json): ModelResponse;
  /** The response without the calls for which `judge` is not `pass`; null: none is removed. `message` replaces the last call. */
  strip(body: Json, judge: JudgeCall, message: string): Json | null;
  /** For one stream. */
  createFilter(options: FilterOptions): StreamFilter;
  /** Body of a 403 in the vendor's form. */
  denialBody(code: string, message: string): Json;
  /** Frame that ends a stream with an error which the vendor's clients raise. */
  streamError(code: string, message: string): string;
}

/**
 * One frame of a stream: an SSE event, an SSE comment, or an NDJSON line. `raw`: its bytes as received, with the blank line. The
 * frames of a stream together have all of its bytes.
 */
export interface Frame {
  raw: Buffer;
  /** Name of the event; null: none. */
  event: string | null;
  /** The data lines, joined by line feeds; null: none, or the frame is too long to be read. */
  data: string | null;
  /** The frame is large: `data` has marks in place of its long strings. */
  short?: ShortJson;
  /**
   * The frame is too large to be held. `begin`: a part of it, and its data so far as valid JSON; null: they cannot be read. `end`: its
   * rest, and all of its data. Further parts have no data.
   */
  part?: 'begin' | 'end';
}

/** All tools of a request: those that it offers, and those that the vendor runs. */
export function toolsOf({
  toolsOffered,
  vendorTools,
}: Pick<ModelRequest, 'toolsOffered' | 'vendorTools'>): readonly string[] {
  return vendorTools.length === 0 ? toolsOffered : [...toolsOffered, ...vendorTools];
}

/** A part of a frame that passes unread. */
export const isUnread = ({ part, data }: Frame): boolean => part !== undefined && data === null;

/** Reads a stream and removes forbidden calls. Frames without a change are returned as the same object (same bytes, no delay). */
export interface StreamFilter {
  /** The frames to send now. While a call is held, the frames after its first one are held as well, so that the order stays. */
  push(frame: Frame): readonly Frame[];
  /** Bytes of the frames that are held. */
  readonly heldBytes: number;
  /** There is no memory for the held frames: the held calls count as `remove`. The frames to send now. */
  release(): readonly Frame[];
  /** Frames that were held when the stream ended. */
  end(): readonly Frame[];
  readonly response: ModelResponse;
  readonly removed: readonly ToolCall[];
}
