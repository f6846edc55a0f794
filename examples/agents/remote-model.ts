import type { ChatModel, Completion, Message, ToolCall } from './model.ts';

export interface RemoteModelOptions {
  id: string;
  /** Such as `https://api.openai.com/v1`. */
  baseUrl: URL;
  apiKey: string;
}

const TIMEOUT_MS = 60_000;

/** Any model behind an OpenAI-compatible `POST {base}/chat/completions`. */
export function createRemoteModel(options: RemoteModelOptions): ChatModel {
  return {
    id: options.id,
    complete: async (messages, tools) => {
      const base = options.baseUrl.href.replace(/\/$/, '');
      const response = await fetch(`${base}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: options.id,
          messages: messages.map(toWire),
          ...(tools.length === 0
            ? {}
            : { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
        }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) throw new Error(`the model returned ${response.status}`);
      return fromWire((await response.json()) as WireResponse);
    },
  };
}

interface WireCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

interface WireResponse {
  choices?: { message?: { content?: string | null; tool_calls?: WireCall[] } }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number };
}

function toWire(message: Message): Record<string, unknown> {
  if (message.role === 'tool')
    return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (!message.toolCalls?.length) return { role: message.role, content: message.content };
  return { role: message.role, content: message.content, tool_calls: message.toolCalls.map(callToWire) };
}

export function callToWire(call: ToolCall): WireCall {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } };
}

function fromWire(response: WireResponse): Completion {
  const message = response.choices?.[0]?.message;
  if (message === undefined) throw new Error('the model response has no message');
  return {
    content: message.content ?? '',
    toolCalls: (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
    usage: {
      promptTokens: response.usage?.prompt_tokens ?? 0,
      completionTokens: response.usage?.completion_tokens ?? 0,
    },
  };
}
