import { isRecord } from '../../core/untrusted/fields.ts';
import {
  CACHED,
  CREATED,
  REASONING,
  event,
  objectsIn,
  piecesOf,
  type ModelResponse,
  type Wire,
} from './model-response.ts';

/** OpenAI's chat completions. */
export const CHAT: Wire = {
  protocol: 'chat',
  path: '/chat/completions',
  toolsOf: ({ tools }) =>
    objectsIn(tools).map(({ function: offer }) => (isRecord(offer) ? String(offer['name']) : '')),
  statesUsageInStream: ({ stream_options: options }) =>
    isRecord(options) && options['include_usage'] === true,
  whole: (response) => ({
    ...identity(response, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: response.text || null,
          refusal: null,
          ...(response.tools.length > 0 && { tool_calls: callsOf(response) }),
        },
        logprobs: null,
        finish_reason: reasonOf(response),
      },
    ],
    usage: usageOf(response),
  }),
  stream(response) {
    const chunk = (delta: object, reason: string | null = null): string =>
      event({
        ...identity(response, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
        ...(response.statesUsage ? { usage: null } : {}),
      });
    const usage = { ...identity(response, 'chat.completion.chunk'), choices: [], usage: usageOf(response) };
    return [
      chunk({ role: 'assistant', content: response.text === '' ? null : '', refusal: null }),
      ...callsOf(response).map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
      ...piecesOf(response.text).map((content) => chunk({ content })),
      chunk({}, reasonOf(response)),
      ...(response.statesUsage ? [event(usage)] : []),
      event('[DONE]'),
    ];
  },
};

const identity = ({ id, model }: ModelResponse, object: string) => ({
  id: `chatcmpl-${id.slice(0, 29)}`,
  object,
  created: CREATED,
  model,
  service_tier: 'default',
  system_fingerprint: 'fp_000000',
});

const reasonOf = ({ tools, end }: ModelResponse): string => end ?? (tools.length > 0 ? 'tool_calls' : 'stop');

const callsOf = ({ id, tools }: ModelResponse) =>
  tools.map(({ name, input }, index) => ({
    id: `call_${index}${id.slice(-23)}`,
    type: 'function',
    function: { name, arguments: input },
  }));

const usageOf = ({ promptTokens, completionTokens }: ModelResponse) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  prompt_tokens_details: { cached_tokens: CACHED, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: REASONING,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});
