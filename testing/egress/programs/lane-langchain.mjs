// VENDOR: the package of the model. AGENT: with LangGraph's agent, else a loop around the model.
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const MODELS = {
  openai: async () => new (await import('@langchain/openai')).ChatOpenAI({ model: 'gpt-4o-mini' }),
  anthropic: async () =>
    new (await import('@langchain/anthropic')).ChatAnthropic({ model: 'claude-sonnet-4-5' }),
};
const model = await MODELS[process.env.VENDOR]();
const toolsOf = (tools) =>
  tools.map(({ name, description, parameters }) =>
    tool((input) => runTool(name, input), { name, description, schema: parameters }),
  );
const plain = (message) => ({
  content: message.content,
  calls: message.tool_calls,
  usage: message.usage_metadata,
});

async function whole(bound, messages) {
  const message = await bound.invoke(messages);
  return { message, shown: plain(message) };
}

async function streamed(bound, messages) {
  let message;
  const shown = [];
  for await (const chunk of await bound.stream(messages)) {
    message = message?.concat(chunk) ?? chunk;
    shown.push(plain(chunk));
  }
  return { message, shown };
}

async function loop(tools, answerTo) {
  const bound = tools.length > 0 ? model.bindTools(toolsOf(tools)) : model;
  const messages = [new HumanMessage(QUESTION)];
  const received = [];
  for (;;) {
    const { message, shown } = await answerTo(bound, messages);
    received.push(shown);
    if (!message.tool_calls?.length) return received;
    messages.push(message);
    for (const { id, name, args } of message.tool_calls)
      messages.push(new ToolMessage({ tool_call_id: id, content: runTool(name, args) }));
  }
}

async function agent(tools) {
  const { createAgent } = await import('langchain');
  const { messages } = await createAgent({ model, tools: toolsOf(tools) }).invoke({
    messages: [{ role: 'user', content: QUESTION }],
  });
  return messages.map(plain);
}

async function agentStream(tools) {
  const { createAgent } = await import('langchain');
  const stream = await createAgent({ model, tools: toolsOf(tools) }).stream(
    { messages: [{ role: 'user', content: QUESTION }] },
    { streamMode: 'messages' },
  );
  const chunks = await Array.fromAsync(stream);
  return chunks.map(([message]) => plain(message));
}

const run =
  process.env.AGENT === '1'
    ? { tools: agent, stream: agentStream }
    : { tools: (tools) => loop(tools, whole), stream: (tools) => loop(tools, streamed) };

await forms({
  text: () => run.tools([]),
  stream: () => run.stream([]),
  tools: () => run.tools(DECLARED),
  'tools stream': () => run.stream(DECLARED),
  undeclared: () => run.tools(UNDECLARED),
});
