import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { isRecord } from '../../core/untrusted/fields.ts';
import type { Message, ToolOffer } from './model.ts';
import { callToWire } from './remote-model.ts';
import type { Turn, TurnRequest } from './turn.ts';

/** The used parts of a chat request in OpenAI's format. */
export interface ChatRequest extends TurnRequest {
  includeUsage: boolean;
}

export type ParsedChatRequest = { ok: true; request: ChatRequest } | { ok: false; message: string };

/** `POST /v1/chat/completions`. `metadata.user_confirmed: "true"` means that the user confirmed a destructive action. */
export function parseCompletionRequest(body: unknown): ParsedChatRequest {
  if (!isRecord(body) || !Array.isArray(body['messages']) || body['messages'].length === 0)
    return { ok: false, message: 'messages must be a non-empty list' };
  const messages = body['messages'].map(parseMessage);
  if (messages.some((message) => message === null))
    return { ok: false, message: 'every message needs a role and a content' };
  const { stream, stream_options: options, metadata, tools } = body;
  return {
    ok: true,
    request: {
      messages: messages.filter((message) => message !== null),
      callerTools: Array.isArray(tools) ? tools.flatMap((tool) => parseTool(tool) ?? []) : [],
      confirmed: isRecord(metadata) && metadata['user_confirmed'] === 'true',
      streamed: stream === true,
      includeUsage: isRecord(options) && options['include_usage'] === true,
    },
  };
}

/** `POST /v1/chat`: `{message}` (or `{messages}`), and `confirmed: true`. */
export function parsePlainRequest(body: unknown): ParsedChatRequest {
  if (!isRecord(body)) return { ok: false, message: 'the body must be an object' };
  const messages =
    typeof body['message'] === 'string' ? [{ role: 'user', content: body['message'] }] : body['messages'];
  const parsed = parseCompletionRequest({ messages });
  if (!parsed.ok) return { ok: false, message: 'message must be a string' };
  return { ok: true, request: { ...parsed.request, confirmed: body['confirmed'] === true } };
}

const ROLES: Readonly<Record<string, Message['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
};

function parseMessage(value: unknown): Message | null {
  if (!isRecord(value)) return null;
  const role = ROLES[String(value['role'])];
  const content = textOf(value['content']);
  if (role === undefined || content === null) return null;
  const toolCallId = value['tool_call_id'];
  return { role, content, ...(typeof toolCallId === 'string' ? { toolCallId } : {}) };
}

/** The text, or the text parts of a list; empty for a message that only calls tools. */
function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) return null;
  return content
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

function parseTool(value: unknown): ToolOffer | null {
  const offer = isRecord(value) ? value['function'] : null;
  if (!isRecord(offer) || typeof offer['name'] !== 'string') return null;
  const { name, description, parameters } = offer;
  return {
    name: String(name),
    description: typeof description === 'string' ? description : '',
    parameters: isRecord(parameters) ? parameters : {},
  };
}

interface Identity {
  id: string;
  created: number;
  model: string;
}

export function identityOf(model: string): Identity {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1_000), model };
}

/** The complete response as one JSON document. */
export function completionBody(turn: Turn, identity: Identity): unknown {
  const calls = turn.toolCalls.map(callToWire);
  const message = {
    role: 'assistant',
    content: calls.length > 0 ? null : turn.content,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return {
    ...identity,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: turn.finishReason, logprobs: null }],
    usage: usageBody(turn),
  };
}

export function usageBody({ usage }: Turn): unknown {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
}

/** Sends the response as server-sent events with a few words each; on request, usage follows in a separate last chunk. */
export async function writeCompletionStream(
  response: ServerResponse,
  turn: Turn,
  options: { identity: Identity; includeUsage: boolean },
): Promise<void> {
  for (const chunk of chunksOf(turn, options)) {
    if (response.destroyed) return;
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    // Yields to the event loop between chunks, so that they are sent as separate writes.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  response.end('data: [DONE]\n\n');
}

function* chunksOf(
  turn: Turn,
  { identity, includeUsage }: { identity: Identity; includeUsage: boolean },
): Generator<unknown> {
  const usage = includeUsage ? { usage: null } : {};
  const chunk = (delta: unknown, finishReason: string | null): unknown => ({
    ...identity,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finishReason, logprobs: null }],
    ...usage,
  });
  yield chunk({ role: 'assistant', content: '' }, null);
  if (turn.toolCalls.length > 0)
    yield chunk({ tool_calls: turn.toolCalls.map((call, index) => ({ index, ...callToWire(call) })) }, null);
  else for (const piece of turn.content.match(/.{1,16}/gs) ?? []) yield chunk({ content: piece }, null);
  yield chunk({}, turn.finishReason);
  if (includeUsage)
    yield { ...identity, object: 'chat.completion.chunk', choices: [], usage: usageBody(turn) };
}
