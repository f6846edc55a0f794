import { piecesOf, type Json, type ModelResponse } from '../frameworks/model-response.ts';
import { functionsIn, type LaneWire } from './lane-wire.ts';

/** Ollama's own chat: a stream is one JSON object per line, and is the default. */
export const OLLAMA: LaneWire = {
  name: 'ollama',
  streamType: 'application/x-ndjson',
  isStreamByDefault: true,
  toolsOf: ({ tools }) => functionsIn(tools),
  whole: (response) => ({ ...lineOf(response, messageOf(response)), ...endOf(response) }),
  stream(response) {
    const messages =
      response.tools.length > 0
        ? [messageOf(response)]
        : piecesOf(response.text).map((content) => ({ role: 'assistant', content }));
    const end = { ...lineOf(response, { role: 'assistant', content: '' }), ...endOf(response) };
    return [...messages.map((message) => lineOf(response, message)), end].map(
      (line) => `${JSON.stringify(line)}\n`,
    );
  },
};

const messageOf = ({ tools, text }: ModelResponse): Json => ({
  role: 'assistant',
  content: text,
  ...(tools.length > 0 && {
    tool_calls: tools.map(({ name, input }) => ({
      function: { name, arguments: JSON.parse(input) as unknown },
    })),
  }),
});

const lineOf = ({ model }: ModelResponse, message: Json): Json => ({
  model,
  created_at: '2026-01-01T00:00:00.000000Z',
  message,
  done: false,
});

const endOf = ({ promptTokens, completionTokens }: ModelResponse): Json => ({
  done: true,
  done_reason: 'stop',
  total_duration: 5_000_000_000,
  load_duration: 1_000_000,
  prompt_eval_count: promptTokens,
  prompt_eval_duration: 100_000_000,
  eval_count: completionTokens,
  eval_duration: 4_000_000_000,
});
