import Anthropic from '@anthropic-ai/sdk';
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const client = new Anthropic();
const REQUEST = { model: 'claude-sonnet-4-5', max_tokens: 100 };
const QUESTIONS = [{ role: 'user', content: QUESTION }];
const toolOf = ({ name, description, parameters }) => ({ name, description, input_schema: parameters });

const whole = async (request) => {
  const answer = await client.messages.create({ ...REQUEST, ...request });
  return { answer, message: answer };
};
const streamed = async (request) => {
  const stream = client.messages.stream({ ...REQUEST, ...request });
  const answer = await Array.fromAsync(stream);
  return { answer, message: await stream.finalMessage() };
};

async function loop(tools, answerTo) {
  const messages = [...QUESTIONS];
  const received = [];
  for (;;) {
    const { answer, message } = await answerTo({ messages: [...messages], tools: tools.map(toolOf) });
    received.push(answer);
    const calls = message.content.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return received;
    const results = calls.map(({ id, name, input }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: runTool(name, input),
    }));
    messages.push({ role: 'assistant', content: message.content }, { role: 'user', content: results });
  }
}

await forms({
  text: async () => (await whole({ messages: QUESTIONS })).answer,
  stream: async () => (await streamed({ messages: QUESTIONS })).answer,
  tools: () => loop(DECLARED, whole),
  'tools stream': () => loop(DECLARED, streamed),
  undeclared: () => loop(UNDECLARED, whole),
});
