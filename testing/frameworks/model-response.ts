import { isRecord } from '../../core/untrusted/fields.ts';

export type Json = Readonly<Record<string, unknown>>;

export const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export type Protocol = 'chat' | 'responses' | 'anthropic';

export interface ToolCall {
  name: string;
  /** JSON */
  input: string;
}

/** The next step of the model: tool calls or a text response. */
export interface Step {
  tools: ToolCall[];
  text: string;
}

/** One response of the model, independent of a protocol. */
export interface ModelResponse extends Step {
  /** 64 hexadecimal digits. */
  id: string;
  model: string;
  /** 16 of them from a cache. */
  promptTokens: number;
  /** 2 of them for reasoning. */
  completionTokens: number;
  statesUsage: boolean;
  /** The vendor's reason for the end; absent: a complete response. */
  end?: string;
}

export const [CACHED, REASONING] = [16, 2] as const;
/** 2026-01-01T00:00:00Z in seconds. */
export const CREATED = 1_767_225_600;

/** Reads requests and writes responses in a vendor's protocol. */
export interface Wire {
  protocol: Protocol;
  /** The end of the request's path. */
  path: string;
  /** Names of the tools that the request offers. */
  toolsOf(body: Json): string[];
  statesUsageInStream(body: Json): boolean;
  whole(response: ModelResponse): unknown;
  /** Server-sent events in wire format. */
  stream(response: ModelResponse): string[];
}

/** Tool calls before the model's text response, so that one response of an agent takes three calls. */
const ROUNDS = 2;
const TEXT = 'Six times seven is “42”.';

/**
 * The step of a model with these tools. `input` are the arguments of its tool calls. Some frameworks receive the text through a
 * tool named `final_answer`.
 */
export function stepAt(call: number, tools: readonly string[], input = `{"a":6,"b":${call + 6}}`): Step {
  const tool = tools.find((name) => name !== 'final_answer');
  if (tool !== undefined && call < ROUNDS) return { tools: [{ name: tool, input }], text: '' };
  if (tools.includes('final_answer'))
    return { tools: [{ name: 'final_answer', input: JSON.stringify({ answer: TEXT }) }], text: '' };
  return { tools: [], text: TEXT };
}

/** The text in parts, as streamed by a model. */
export const piecesOf = (text: string): string[] => text.match(/.{1,6}/gsu) ?? [];

export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
