import { TransformStream } from 'node:stream/web';
import { tool } from '@langchain/core/tools';
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, createMiddleware } from 'langchain';
import { z } from 'zod';
import { MODEL, QUESTION } from './common.mjs';
import { Blocked, integration, multiplier, reporter, serveForms } from './observed.mjs';

const handler = new integration.ComplianceHandler(reporter, {
  checkPolicy: true,
  guardrails: { 'pii-detector': 'pii-detector', NoPersonalData: 'pii-detector' },
});
const INPUT = { messages: [{ role: 'user', content: QUESTION }] };
const chat = (url, more = {}) =>
  new ChatOpenAI({ model: MODEL, apiKey: 'key', maxRetries: 0, configuration: { baseURL: url }, ...more });
const multiply = (isFailing) =>
  tool((input) => String(multiplier(isFailing)(input)), {
    name: 'multiply',
    description: 'Multiplies two numbers.',
    schema: z.object({ a: z.number(), b: z.number() }),
  });
const noPersonalData = createMiddleware({ name: 'NoPersonalData', beforeModel: () => undefined });
const agent = (url, { isFailing, middleware = [noPersonalData], model } = {}) =>
  createAgent({ model: model ?? chat(url), tools: [multiply(isFailing)], middleware });

/** A graph whose first node is a guardrail. */
function graph(url, { blocks = false, withGuardrail = true } = {}) {
  const tools = [multiply()];
  const model = chat(url).bindTools(tools);
  return new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec }))
    .addNode('pii-detector', () => {
      if (blocks) throw new Blocked('personal data');
      return {};
    })
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', new ToolNode(tools))
    .addConditionalEdges(START, () => (withGuardrail ? 'pii-detector' : 'model'), ['pii-detector', 'model'])
    .addEdge('pii-detector', 'model')
    .addConditionalEdges('model', toolsCondition, ['tools', END])
    .addEdge('tools', 'model')
    .compile();
}
const callbacks = [handler];
const text = async (state) => (await state).messages.at(-1).content;
const streamed = (chunks) =>
  new Response(
    ReadableStream.from(chunks)
      .pipeThrough(
        new TransformStream({ transform: ([chunk], out) => out.enqueue(`${JSON.stringify(chunk)}\n`) }),
      )
      .pipeThrough(new TextEncoderStream()),
  );

serveForms({
  whole: (url) => text(graph(url).invoke(INPUT, { callbacks })),
  responses: (url) =>
    text(agent(url, { model: chat(url, { useResponsesApi: true }) }).invoke(INPUT, { callbacks })),
  'agent with middleware': (url) => text(agent(url).invoke(INPUT, { callbacks })),
  stream: async (url) => streamed(await graph(url).stream(INPUT, { callbacks, streamMode: 'messages' })),
  'failing tool': async (url) => {
    const failing = agent(url, { isFailing: true });
    try {
      return await text(failing.invoke(INPUT, { callbacks }));
    } catch (error) {
      if (error.message !== 'cannot multiply') throw error;
      return error.message;
    }
  },
  blocked: (url) => text(graph(url, { blocks: true }).invoke(INPUT, { callbacks })),
  denied: (url) => text(graph(url, { withGuardrail: false }).invoke(INPUT, { callbacks })),
  'denied stream': async (url) => {
    const chunks = [];
    const options = { callbacks, streamMode: 'messages' };
    for await (const chunk of await graph(url, { withGuardrail: false }).stream(INPUT, options))
      chunks.push(chunk);
    return chunks.length;
  },
});
