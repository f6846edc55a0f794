import OpenAI from 'openai';
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const client = new OpenAI();
const create = (request) => client.responses.create({ model: 'gpt-4o-mini', ...request });
const functionOf = ({ name, description, parameters }) => ({
  type: 'function',
  name,
  description,
  parameters,
});

const whole = async (request) => {
  const answer = await create(request);
  return { answer, output: answer.output };
};
const streamed = async (request) => {
  const answer = await Array.fromAsync(await create({ ...request, stream: true }));
  return { answer, output: answer.find(({ type }) => type === 'response.completed').response.output };
};

/** `isStored`: the vendor keeps the conversation, and a request has only what is new. */
async function loop(tools, answerTo, isStored = false) {
  let input = [{ role: 'user', content: QUESTION }];
  let previous = {};
  const received = [];
  for (;;) {
    const { answer, output } = await answerTo({ input, tools: tools.map(functionOf), ...previous });
    received.push(answer);
    const calls = output.filter(({ type }) => type === 'function_call');
    if (calls.length === 0) return received;
    const results = calls.map(({ name, call_id, arguments: text }) => ({
      type: 'function_call_output',
      call_id,
      output: runTool(name, text),
    }));
    if (isStored) [input, previous] = [results, { previous_response_id: answer.id }];
    else input = [...input, ...output, ...results];
  }
}

await forms({
  text: () => create({ input: QUESTION }),
  stream: async () => (await streamed({ input: QUESTION })).answer,
  tools: () => loop(DECLARED, whole),
  'tools stream': () => loop(DECLARED, streamed),
  'stored tools': () => loop(DECLARED, whole, true),
  undeclared: () => loop(UNDECLARED, whole),
  'web search': () => create({ input: QUESTION, tools: [{ type: 'web_search' }] }),
  // The conversation exists at the vendor before the first request of the form.
  'stored forbidden': () =>
    create({ input: QUESTION, tools: DECLARED.map(functionOf), previous_response_id: 'resp_1' }),
});
