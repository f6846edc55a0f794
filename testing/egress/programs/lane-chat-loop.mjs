// The usual loops around a client for chat completions.
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const QUESTIONS = [{ role: 'user', content: QUESTION }];

export const chatForms = (client, model) => {
  const create = (request) => client.chat.completions.create({ model, ...request });
  const streamed = async (request) => {
    const chunks = [];
    // Many agents read the first choice of every chunk without a check.
    let text = '';
    for await (const chunk of await create({ ...request, stream: true })) {
      text += chunk.choices[0].delta.content ?? '';
      chunks.push(chunk);
    }
    return { chunks, text };
  };
  const loop = async (tools, answerTo) => {
    const messages = [...QUESTIONS];
    const received = [];
    for (;;) {
      const { answer, calls } = await answerTo({ messages: [...messages], tools: tools.map(functionOf) });
      received.push(answer);
      if (calls.length === 0) return received;
      messages.push({ role: 'assistant', content: null, tool_calls: calls });
      for (const { id, function: called } of calls)
        messages.push({
          role: 'tool',
          tool_call_id: id,
          content: runTool(called.name, called.arguments),
        });
    }
  };
  const whole = async (request) => {
    const answer = await create(request);
    return { answer, calls: answer.choices[0].message.tool_calls ?? [] };
  };
  const stream = async (request) => {
    const answer = await streamed(request);
    return { answer, calls: callsIn(answer.chunks) };
  };
  return forms({
    text: () => create({ messages: QUESTIONS }),
    stream: () => streamed({ messages: QUESTIONS }),
    tools: () => loop(DECLARED, whole),
    'tools stream': () => loop(DECLARED, stream),
    undeclared: () => loop(UNDECLARED, whole),
  });
};

const functionOf = ({ name, description, parameters }) => ({
  type: 'function',
  function: { name, description, parameters },
});

function callsIn(chunks) {
  const calls = [];
  for (const { index, id, function: part } of chunks.flatMap(
    ({ choices }) => choices[0].delta.tool_calls ?? [],
  )) {
    calls[index] ??= { id, type: 'function', function: { name: part.name, arguments: '' } };
    calls[index].function.arguments += part.arguments ?? '';
  }
  return calls;
}
