/** The request to every target and the only correct response. */
export interface Scenario {
  name: 'json' | 'chat' | 'sse';
  method: 'GET' | 'POST';
  /** Path after the prefix, which selects whether the agent reports behavior. */
  path: string;
  body: string;
  contentType: string;
  /** The response body. A stream has one element per event; each event is written separately. */
  response: readonly string[];
}

/** With `headers` the agent adds the behavioral headers to every response. `openai` is the path of an egress lane. */
export type Prefix = 'plain' | 'headers' | 'openai';

/** Reports the behavior that the manifest of the benchmark requires, so that the policy allows it. */
export const BEHAVIOR_HEADERS = {
  'X-Platform-Guardrails-Invoked': 'pii-detector, prompt-injection',
  'X-Platform-Tools-Called': 'search-orders, refund',
  'X-Platform-User-Confirmed': 'true',
} as const;

export const USAGE = { prompt_tokens: 412, completion_tokens: 96, total_tokens: 508 };

const ORDER = { order: 'A-1042', status: 'shipped', carrier: 'post', items: [{ sku: 'x1', count: 2 }] };

/** The question to a model. */
export const ASKED = {
  model: 'gpt-5',
  messages: [
    { role: 'system', content: 'You help customers of a small shop. '.repeat(40) },
    { role: 'user', content: 'Where is my order A-1042? '.repeat(20) },
  ],
};
const QUESTION = JSON.stringify(ASKED);

/** The response of a model. */
export const completion = (usage: object): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-5',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Your order was shipped on Monday. '.repeat(12) },
        finish_reason: 'stop',
      },
    ],
    usage,
  });

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'gpt-5', choices: [{ index: 0, delta }], ...more })}\n\n`;

const EVENTS = [
  ...Array.from({ length: 10 }, (_, index) => chunk({ content: `word ${index} of the answer ` })),
  chunk({}, { usage: USAGE }),
  'data: [DONE]\n\n',
];

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'json',
    method: 'GET',
    path: '/orders/A-1042',
    body: '',
    contentType: 'application/json',
    response: [JSON.stringify(ORDER)],
  },
  {
    name: 'chat',
    method: 'POST',
    path: '/v1/chat/completions',
    body: QUESTION,
    contentType: 'application/json',
    response: [completion(USAGE)],
  },
  {
    name: 'sse',
    method: 'POST',
    path: '/v1/stream/chat/completions',
    body: QUESTION,
    contentType: 'text/event-stream',
    response: EVENTS,
  },
];
