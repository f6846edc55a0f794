import { ASKED, completion, USAGE, type Scenario } from './scenarios.ts';

/** Events of a streamed response, in addition to its begin and end. */
const EVENTS = 100;

const LANE_USAGE = { ...USAGE, prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } };

const tool = (name: string): object => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { order: { type: 'string' } } } },
});

const request = (more: object): string =>
  JSON.stringify({ ...ASKED, tools: ['search-orders', 'refund'].map(tool), ...more });

const CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'gpt-5' };

const chunk = (delta: object, reason: string | null = null): string =>
  event({
    ...CHUNK,
    choices: [{ index: 0, delta, finish_reason: reason }],
    usage: null,
  });
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** The calls of a model through a lane. The stream requests its usage itself, so that the lane must not change it. */
export const LANE_SCENARIOS: readonly Scenario[] = [
  {
    name: 'chat',
    method: 'POST',
    path: '/v1/chat/completions',
    body: request({}),
    contentType: 'application/json',
    response: [completion(LANE_USAGE)],
  },
  {
    name: 'sse',
    method: 'POST',
    path: '/v1/chat/completions?stream',
    body: request({ stream: true, stream_options: { include_usage: true } }),
    contentType: 'text/event-stream',
    response: [
      chunk({ role: 'assistant', content: '' }),
      ...Array.from({ length: EVENTS }, (_, index) => chunk({ content: `word ${index} of the answer ` })),
      chunk({}, 'stop'),
      event({ ...CHUNK, choices: [], usage: LANE_USAGE }),
      'data: [DONE]\n\n',
    ],
  },
];
