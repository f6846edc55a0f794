// What a vendor with OpenAI's API responds to chat completions on the lane `openai`.
import type { TlsVendor } from './egress-rig.ts';

export const CHAT = '/openai/v1/chat/completions';
export const USAGE = { prompt_tokens: 31, completion_tokens: 5, total_tokens: 36 };
/** A request. */
export const CHAT_REQUEST = {
  model: 'gpt-5',
  messages: [{ role: 'user', content: 'hi' }],
  max_tokens: 50,
};
const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-5' };
/** The event of a stream that has the usage. */
export const LAST = { ...CHUNK, choices: [], usage: USAGE };

export const call = (name: string, args = '{}'): object => ({
  ...{ id: `call_${name}`, type: 'function' },
  function: { name, arguments: args },
});

export const responseOf = (...calls: object[]): object => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-5-2026-01-01', usage: USAGE },
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, ...(calls.length > 0 && { tool_calls: calls }) },
      finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
    },
  ],
});

export const chunk = (delta: object, reason: string | null = null): object => ({
  ...CHUNK,
  choices: [{ index: 0, delta, finish_reason: reason }],
});

export const sse = (events: readonly unknown[]): string =>
  events.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join('');

/** Responds with this body. */
export const reply =
  (body: string, type = 'application/json'): TlsVendor['respond'] =>
  (_seen, response) =>
    void response.writeHead(200, { 'content-type': type }).end(body);
export const json = (value: unknown): TlsVendor['respond'] => reply(JSON.stringify(value));
export const stream = (text: string): TlsVendor['respond'] => reply(text, 'text/event-stream');
