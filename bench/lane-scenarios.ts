import type { Scenario } from './scenarios.ts';

/** Events of a streamed answer, in addition to its begin and end. */
const EVENTS = 100;

const MODEL = 'gpt-5';
const USAGE = {
  ...{ prompt_tokens: 412, completion_tokens: 96, total_tokens: 508 },
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
};

const tool = (name: string): object => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { order: { type: 'string' } } } },
});

const request = (more: object): string =>
  JSON.stringify({
    model: MODEL,
    messages: [
      { role: 'system', content: 'You help customers of a small shop. '.repeat(40) },
      { role: 'user', content: 'Where is my order A-1042? '.repeat(20) },
    ],
    tools: ['search-orders', 'refund'].map(tool),
    ...more,
  });

const identity = (object: string): object => ({
  id: 'chatcmpl-1',
  object,
  created: 1_767_225_600,
  model: MODEL,
});

const COMPLETION = JSON.stringify({
  ...identity('chat.completion'),
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Your order was shipped on Monday. '.repeat(12) },
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
});

const chunk = (delta: object, reason: string | null = null): string =>
  event({
    ...identity('chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: reason }],
    usage: null,
  });
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** The calls of a model through a lane. The stream requests its usage itself, so that the lane must not change it. */
export const LANE_SCENARIOS: readonly Scenario[] = [
  {
    name: 'chat',
    what: 'POST of 2 KB; the response is a chat completion with usage',
    method: 'POST',
    path: '/v1/chat/completions',
    body: request({}),
    contentType: 'application/json',
    response: [COMPLETION],
  },
  {
    name: 'sse',
    what: `POST of 2 KB; the response is the completion as ${EVENTS} server-sent events of text, each written separately`,
    method: 'POST',
    path: '/v1/chat/completions?stream',
    body: request({ stream: true, stream_options: { include_usage: true } }),
    contentType: 'text/event-stream',
    response: [
      chunk({ role: 'assistant', content: '' }),
      ...Array.from({ length: EVENTS }, (_, index) => chunk({ content: `word ${index} of the answer ` })),
      chunk({}, 'stop'),
      event({ ...identity('chat.completion.chunk'), choices: [], usage: USAGE }),
      'data: [DONE]\n\n',
    ],
  },
];
