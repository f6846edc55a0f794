// An agent with the OpenAI Agents SDK and its own guardrails.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import * as agents from '@openai/agents';
import { install } from 'agent-compliance/integrations/openai-agents';
import { createReporter, PolicyDeniedError } from 'agent-compliance/reporter';
import { parse } from 'yaml';
import { z } from 'zod';

const PERSONAL_DATA = /[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b/;

const reporter = createReporter({
  manifest: parse(readFileSync('agent.yaml', 'utf8')),
  tools: ['calculator'],
});
reporter.start();
install(reporter, { checkPolicy: true, agents });

const { Agent, InputGuardrailTripwireTriggered, run, tool } = agents;

const calculator = tool({
  name: 'calculator',
  description: 'Multiplies two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a * b),
});
// The name is the type of the guardrail in agent.yaml. It runs before the first call of the model, not at the same time.
const piiDetector = {
  name: 'pii-detector',
  runInParallel: false,
  execute: async ({ input }) => ({
    outputInfo: null,
    tripwireTriggered: PERSONAL_DATA.test(JSON.stringify(input)),
  }),
};
const agent = new Agent({
  name: 'calculator',
  instructions: 'You calculate.',
  model: 'gpt-4o-mini',
  tools: [calculator],
  inputGuardrails: [piiDetector],
});

async function chat(message) {
  try {
    return { body: { response: (await run(agent, message)).finalOutput } };
  } catch (error) {
    if (!(error instanceof InputGuardrailTripwireTriggered)) throw error;
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
