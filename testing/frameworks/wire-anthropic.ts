import { CACHED, event, objectsIn, piecesOf, type ModelResponse, type Wire } from './model-response.ts';

/** Anthropic's messages. */
export const ANTHROPIC: Wire = {
  protocol: 'anthropic',
  path: '/messages',
  toolsOf: ({ tools }) => objectsIn(tools).map(({ name }) => String(name)),
  statesUsageInStream: () => true,
  whole: (response) => ({
    ...identity(response),
    content: contentOf(response),
    stop_reason: reasonOf(response),
    usage: { ...inputOf(response), output_tokens: response.completionTokens },
  }),
  stream(response) {
    const send = (type: string, members: object): string => event({ type, ...members }, type);
    const message = { ...identity(response), content: [], usage: { ...inputOf(response), output_tokens: 1 } };
    return [
      send('message_start', { message }),
      ...contentOf(response).flatMap((block, index) => [
        send('content_block_start', { index, content_block: emptied(block) }),
        send('ping', {}),
        ...deltasOf(block).map((delta) => send('content_block_delta', { index, delta })),
        send('content_block_stop', { index }),
      ]),
      send('message_delta', {
        delta: { stop_reason: reasonOf(response), stop_sequence: null },
        usage: { ...inputOf(response), output_tokens: response.completionTokens },
      }),
      send('message_stop', {}),
    ];
  },
};

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown };

const identity = ({ id, model }: ModelResponse) => ({
  id: `msg_01${id.slice(0, 22)}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [] as Block[],
  stop_reason: null as string | null,
  stop_sequence: null,
});

const reasonOf = ({ tools, end }: ModelResponse): string =>
  end ?? (tools.length > 0 ? 'tool_use' : 'end_turn');

function contentOf({ id, tools, text }: ModelResponse): Block[] {
  if (tools.length === 0) return [{ type: 'text', text }];
  return tools.map(({ name, input }, index) => ({
    type: 'tool_use',
    id: `toolu_01${index}${id.slice(-21)}`,
    name,
    input: JSON.parse(input) as unknown,
  }));
}

const emptied = (block: Block): Block =>
  block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };

const deltasOf = (block: Block): object[] =>
  block.type === 'text'
    ? piecesOf(block.text).map((text) => ({ type: 'text_delta', text }))
    : [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }];

/** Cached tokens are not part of `input_tokens`. */
const inputOf = ({ promptTokens }: ModelResponse) => ({
  input_tokens: promptTokens - CACHED,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: CACHED,
});
