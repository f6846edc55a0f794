// An agent with Mastra and a guardrail that is an input processor.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { compliance } from 'agent-compliance/integrations/mastra';
import { createReporter, PolicyDeniedError } from 'agent-compliance/reporter';
import { parse } from 'yaml';
import { z } from 'zod';

const PERSONAL_DATA = /[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b/;

const reporter = createReporter({
  manifest: parse(readFileSync('agent.yaml', 'utf8')),
  tools: ['calculator'],
});
reporter.start();

const calculator = createTool({
  id: 'calculator',
  description: 'Multiplies two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ product: a * b }),
});
// The id is the type of the guardrail in agent.yaml.
const piiDetector = {
  id: 'pii-detector',
  processInput({ messages, abort }) {
    if (PERSONAL_DATA.test(JSON.stringify(messages))) abort('the message contains personal data');
    return messages;
  },
};
const config = {
  id: 'calculator',
  name: 'calculator',
  instructions: 'You calculate.',
  model: createOpenAI().chat('gpt-4o-mini'),
  tools: { calculator },
};
const members = compliance(reporter, { checkPolicy: true, inputProcessors: [piiDetector] });
const agent = new Agent({ ...config, ...members });

async function chat(message) {
  const result = await agent.generate(message);
  if (result.tripwire) return { status: 422, body: { error: result.tripwire.reason } };
  return { body: { response: result.text } };
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
