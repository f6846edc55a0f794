// An agent with LangGraph: a guardrail node, a model node and a tool node.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { tool } from '@langchain/core/tools';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { ComplianceHandler } from 'agent-compliance/integrations/langchain';
import { createReporter, PolicyDeniedError } from 'agent-compliance/reporter';
import { parse } from 'yaml';
import { z } from 'zod';

const PERSONAL_DATA = /[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b/;

const reporter = createReporter({
  manifest: parse(readFileSync('agent.yaml', 'utf8')),
  tools: ['calculator'],
});
reporter.start();

class PersonalDataError extends Error {}

const calculator = tool(({ a, b }) => String(a * b), {
  name: 'calculator',
  description: 'Multiplies two numbers.',
  schema: z.object({ a: z.number(), b: z.number() }),
});
const model = new ChatOpenAI({ model: 'gpt-4o-mini' }).bindTools([calculator]);

function piiDetector({ messages }) {
  if (PERSONAL_DATA.test(messages.at(-1).text)) throw new PersonalDataError();
  return {};
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode('pii-detector', piiDetector)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode([calculator]))
  .addEdge(START, 'pii-detector')
  .addEdge('pii-detector', 'model')
  .addConditionalEdges('model', toolsCondition, { tools: 'tools', [END]: END })
  .addEdge('tools', 'model')
  .compile();

// The node has the type of the guardrail in agent.yaml as its name. An error of the node means that it has blocked the message.
const callbacks = [new ComplianceHandler(reporter, { checkPolicy: true, guardrails: ['pii-detector'] })];

async function chat(message) {
  try {
    const messages = [{ role: 'user', content: message }];
    const result = await graph.invoke({ messages }, { callbacks });
    return { body: { response: result.messages.at(-1).text } };
  } catch (error) {
    if (!(error instanceof PersonalDataError)) throw error;
    return { status: 422, body: { error: 'the message contains personal data' } };
  }
}

async function route(request) {
  const { method, url } = request;
  if (method === 'POST' && url === '/v1/chat') return await chat(JSON.parse(await text(request)).message);
  if (url === '/health') return { body: { status: 'ok' } };
  if (url === '/capabilities') return { body: { tools: ['calculator'] } };
  return { status: 404, body: { error: 'not found' } };
}

createServer(async (request, response) => {
  if (reporter.handle(request, response)) return;
  const { status = 200, body } = await route(request).catch((error) => {
    if (error instanceof PolicyDeniedError) return { status: 403, body: { denied: error.violations } };
    console.error(error);
    return { status: 500, body: { error: 'internal error' } };
  });
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}).listen(Number(process.env.PORT ?? 8000), process.env.HOST ?? '127.0.0.1');
