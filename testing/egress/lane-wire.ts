import { isRecord } from '../../core/untrusted/fields.ts';
import { event, objectsIn, type Json, type ModelResponse } from '../frameworks/model-response.ts';
import { ANTHROPIC as MESSAGES } from '../frameworks/wire-anthropic.ts';
import { CHAT as COMPLETIONS } from '../frameworks/wire-chat.ts';
import { RESPONSES as RESPONSE } from '../frameworks/wire-responses.ts';

/** One protocol of a vendor, as its public API has it. */
export interface LaneWire {
  name: 'chat' | 'responses' | 'embeddings' | 'anthropic' | 'gemini' | 'cohere' | 'ollama';
  /** Content type of streams. */
  streamType: string;
  /** A request without `stream` gets a stream. */
  isStreamByDefault?: true;
  /** Names of the tools that the request offers. */
  toolsOf(body: Json): string[];
  /** Whether a stream for this request has usage; absent: always. */
  statesUsageInStream?: (body: Json) => boolean;
  whole(response: ModelResponse): unknown;
  /** Events in wire format. */
  stream(response: ModelResponse): string[];
}

export const CHAT: LaneWire = { ...COMPLETIONS, name: 'chat', streamType: 'text/event-stream' };
export const RESPONSES: LaneWire = { ...RESPONSE, name: 'responses', streamType: 'text/event-stream' };
export const ANTHROPIC: LaneWire = { ...MESSAGES, name: 'anthropic', streamType: 'text/event-stream' };

/** Mistral states the usage of a stream always, in its last chunk, and rejects the option for it. */
export const MISTRAL: LaneWire = {
  ...CHAT,
  statesUsageInStream: () => true,
  stream(response) {
    const events = COMPLETIONS.stream({ ...response, statesUsage: false });
    const { usage } = COMPLETIONS.whole(response) as Json;
    const last = JSON.parse(events.at(-2)?.replace(/^data: /, '') ?? '') as Json;
    return events.with(-2, event({ ...last, usage }));
  },
};

/** OpenAI's embeddings: no stream and no tools. */
export const EMBEDDINGS: LaneWire = {
  name: 'embeddings',
  streamType: 'text/event-stream',
  toolsOf: () => [],
  whole: ({ model, promptTokens }) => ({
    object: 'list',
    // Clients request base64: two numbers of four bytes, both 0.5.
    data: [{ object: 'embedding', index: 0, embedding: 'AAAAPwAAAD8=' }],
    model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  }),
  stream: () => [],
};

/** The names in `[{type: 'function', function: {name}}]`. */
export const functionsIn = (tools: unknown): string[] =>
  objectsIn(tools).map(({ function: offer }) => (isRecord(offer) ? String(offer['name']) : ''));
