/** The protocols of model vendors that the lanes read. */
export const WIRES = ['chat', 'responses', 'embeddings', 'anthropic', 'gemini', 'cohere', 'ollama'] as const;
export type WireName = (typeof WIRES)[number];
export type Json = Readonly<Record<string, unknown>>;

/** A tool call in a model's answer. */
export interface ToolCall {
  id: string | null;
  name: string;
  /** JSON text; null: not complete yet. */
  arguments: string | null;
}

export interface ModelRequest {
  model: string | null;
  isStream: boolean;
  /** Names of the tools that the request offers and the agent runs. */
  toolsOffered: string[];
  /** Tools that the vendor runs (`web_search`, `mcp:<label>`, `code_interpreter`, ...): can only be stopped at the request. */
  vendorTools: string[];
  /** Results of tool calls in the request: the agent ran these tools. `name` null: only the id of the call is in the request. */
  toolResults: { callId: string | null; name: string | null }[];
  maxOutputTokens: number | null;
  /** The vendor keeps the conversation (`previous_response_id`, `conversation`): a forbidden call cannot be removed, only refused. */
  isStateful: boolean;
}

/** Cached and written tokens are parts of the prompt, reasoning tokens of the completion. */
export interface ModelUsage {
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  reasoningTokens: number;
}

export interface ModelAnswer {
  model: string | null;
  toolCalls: ToolCall[];
  usage: ModelUsage | null;
  isComplete: boolean;
}

/** What to do with one tool call of an answer. `hold`: the arguments are needed; asked again with them. */
export type CallVerdict = 'pass' | 'remove' | 'hold';
export type JudgeCall = (call: ToolCall) => CallVerdict;

/** Reads and writes one protocol. */
export interface ModelWire {
  name: WireName;
  /** `model`: from the path, where the vendor has it there (Gemini, Azure deployments). */
  readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest;
  /** The body with what the lane needs in the answer (chat streams: `stream_options.include_usage`); null: unchanged. */
  prepare(body: Json): { body: Json; addedUsage: boolean } | null;
  readAnswer(body: Json): ModelAnswer;
  /** The answer without the calls for which `judge` is not `pass`; null: none is removed. `message` replaces the last call. */
  strip(body: Json, judge: JudgeCall, message: string): { body: Json; removed: ToolCall[] } | null;
  createFilter(options: { judge: JudgeCall; message: string; removeUsage: boolean }): StreamFilter;
  /** Body of a 403 in the vendor's form. */
  denialBody(code: string, message: string): Json;
  /** Frame that ends a stream with an error which the vendor's clients raise. */
  streamError(code: string, message: string): string;
}

/** One frame of a stream: an SSE event or an NDJSON line. `raw`: its bytes as received, with the blank line. */
export interface Frame {
  raw: Buffer;
  event: string | null;
  data: string | null;
}

/** Reads a stream and removes forbidden calls. Frames without a change are returned as the same object (same bytes, no delay). */
export interface StreamFilter {
  push(frame: Frame): readonly Frame[];
  /** Frames that were held when the stream ended. */
  end(): readonly Frame[];
  readonly answer: ModelAnswer;
  readonly removed: readonly ToolCall[];
}
