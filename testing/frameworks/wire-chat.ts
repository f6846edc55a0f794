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
  whole: (answer) => ({
    ...identity(answer, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.text || null,
          refusal: null,
          ...(answer.tools.length > 0 && { tool_calls: callsOf(answer) }),
        },
        logprobs: null,
        finish_reason: reasonOf(answer),
      },
    ],
    usage: usageOf(answer),
  }),
  stream(answer) {
    const chunk = (delta: object, reason: string | null = null): string =>
      event({
        ...identity(answer, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
        ...(answer.statesUsage ? { usage: null } : {}),
      });
    const usage = { ...identity(answer, 'chat.completion.chunk'), choices: [], usage: usageOf(answer) };
    return [
      chunk({ role: 'assistant', content: answer.text === '' ? null : '', refusal: null }),
      ...callsOf(answer).map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
      ...piecesOf(answer.text).map((content) => chunk({ content })),
      chunk({}, reasonOf(answer)),
      ...(answer.statesUsage ? [event(usage)] : []),
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
