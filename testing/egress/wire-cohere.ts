import { event, piecesOf, type ModelResponse } from '../frameworks/model-response.ts';
import { functionsIn, type LaneWire } from './lane-wire.ts';

/** Version 2 of Cohere's chat. */
export const COHERE: LaneWire = {
  name: 'cohere',
  streamType: 'text/event-stream',
  toolsOf: ({ tools }) => functionsIn(tools),
  whole: (response) => ({
    id: idOf(response),
    finish_reason: reasonOf(response),
    message: {
      role: 'assistant',
      ...(response.tools.length > 0
        ? { tool_plan: 'I will use the tools.', tool_calls: callsOf(response) }
        : { content: [{ type: 'text', text: response.text }] }),
    },
    usage: usageOf(response),
  }),
  stream(response) {
    const send = (type: string, members: object): string => event({ type, ...members }, type);
    const message = (members: object): object => ({ delta: { message: members } });
    const start = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] };
    return [
      send('message-start', { id: idOf(response), ...message(start) }),
      ...(response.tools.length > 0
        ? [
            send('tool-plan-delta', message({ tool_plan: 'I will use the tools.' })),
            ...callsOf(response).flatMap((call, index) => [
              send('tool-call-start', {
                index,
                ...message({ tool_calls: { ...call, function: { ...call.function, arguments: '' } } }),
              }),
              send('tool-call-delta', {
                index,
                ...message({ tool_calls: { function: { arguments: call.function.arguments } } }),
              }),
              send('tool-call-end', { index }),
            ]),
          ]
        : [
            send('content-start', { index: 0, ...message({ content: { type: 'text', text: '' } }) }),
            ...piecesOf(response.text).map((text) =>
              send('content-delta', { index: 0, ...message({ content: { text } }) }),
            ),
            send('content-end', { index: 0 }),
          ]),
      send('message-end', { delta: { finish_reason: reasonOf(response), usage: usageOf(response) } }),
    ];
  },
};

const idOf = ({ id }: ModelResponse): string =>
  [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20, 32)].join('-');

const reasonOf = ({ tools }: ModelResponse): string => (tools.length > 0 ? 'TOOL_CALL' : 'COMPLETE');

const callsOf = ({ id, tools }: ModelResponse) =>
  tools.map(({ name, input }, index) => ({
    id: `${name}_${index}${id.slice(-12)}`,
    type: 'function',
    function: { name, arguments: input },
  }));

const usageOf = ({ promptTokens, completionTokens }: ModelResponse) => ({
  billed_units: { input_tokens: promptTokens - 1, output_tokens: completionTokens },
  tokens: { input_tokens: promptTokens, output_tokens: completionTokens },
});
