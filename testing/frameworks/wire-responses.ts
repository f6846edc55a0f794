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

/** OpenAI's Responses. */
export const RESPONSES: Wire = {
  protocol: 'responses',
  path: '/responses',
  toolsOf: ({ tools }) => objectsIn(tools).map(({ name }) => String(name)),
  statesUsageInStream: () => true,
  whole: (response) => responseOf(response, 'completed'),
  stream(response) {
    let sequence = 0;
    const send = (type: string, members: object): string =>
      event({ type, ...members, sequence_number: sequence++ }, type);
    const begun = responseOf(response, 'in_progress');
    return [
      send('response.created', { response: begun }),
      send('response.in_progress', { response: begun }),
      ...outputOf(response).flatMap((item, index) => eventsOf(item, { index, response, send })),
      send('response.completed', { response: responseOf(response, 'completed') }),
    ];
  },
};

type Item = ReturnType<typeof outputOf>[number];
interface Sending {
  index: number;
  response: ModelResponse;
  send: (type: string, members: object) => string;
}

function eventsOf(item: Item, { index, response, send }: Sending): string[] {
  const place = { item_id: item.id, output_index: index };
  const open = { ...item, status: 'in_progress' };
  const done = send('response.output_item.done', { output_index: index, item });
  if (item.type === 'function_call') {
    const added = { ...open, arguments: '' };
    return [
      send('response.output_item.added', { output_index: index, item: added }),
      send('response.function_call_arguments.delta', { ...place, delta: item.arguments }),
      send('response.function_call_arguments.done', { ...place, arguments: item.arguments }),
      done,
    ];
  }
  const [part] = item.content;
  const inside = { ...place, content_index: 0 };
  return [
    send('response.output_item.added', { output_index: index, item: { ...open, content: [] } }),
    send('response.content_part.added', { ...inside, part: { ...part, text: '' } }),
    ...piecesOf(response.text).map((delta) =>
      send('response.output_text.delta', { ...inside, delta, logprobs: [] }),
    ),
    send('response.output_text.done', { ...inside, text: response.text, logprobs: [] }),
    send('response.content_part.done', { ...inside, part }),
    done,
  ];
}

function responseOf(response: ModelResponse, status: 'in_progress' | 'completed') {
  const isDone = status === 'completed';
  return {
    id: `resp_${response.id.slice(0, 48)}`,
    object: 'response',
    created_at: CREATED,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: response.model,
    output: isDone ? outputOf(response) : [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: isDone ? usageOf(response) : null,
    user: null,
    metadata: {},
  };
}

function outputOf({ id, tools, text }: ModelResponse) {
  const calls = tools.map(({ name, input }, index) => ({
    id: `fc_${index}${id.slice(0, 47)}`,
    type: 'function_call' as const,
    status: 'completed',
    arguments: input,
    call_id: `call_${index}${id.slice(-23)}`,
    name,
  }));
  if (calls.length > 0) return calls;
  return [
    {
      id: `msg_${id.slice(0, 48)}`,
      type: 'message' as const,
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
    },
  ];
}

const usageOf = ({ promptTokens, completionTokens }: ModelResponse) => ({
  input_tokens: promptTokens,
  input_tokens_details: { cached_tokens: CACHED },
  output_tokens: completionTokens,
  output_tokens_details: { reasoning_tokens: REASONING },
  total_tokens: promptTokens + completionTokens,
});
