// An agent with the AI SDK. Its model is wrapped by the middleware, and everything else is ordinary code.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { createOpenAI } from '@ai-sdk/openai';
import { compliance } from 'agent-compliance/integrations/ai-sdk';
import { createReporter, PolicyDeniedError } from 'agent-compliance/reporter';
import { generateText, stepCountIs, tool, wrapLanguageModel } from 'ai';
import { parse } from 'yaml';
import { z } from 'zod';

const PERSONAL_DATA = /[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b/;

const reporter = createReporter({
  manifest: parse(readFileSync('agent.yaml', 'utf8')),
  tools: ['calculator'],
});
reporter.start();

const middleware = compliance(reporter, { checkPolicy: true });
const model = wrapLanguageModel({ model: createOpenAI().chat('gpt-4o-mini'), middleware });
const calculator = tool({
  description: 'Multiplies two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a * b,
});

async function chat(message) {
  const blocked = PERSONAL_DATA.test(message);
  reporter.behavior().guardrail('pii-detector', { blocked });
  if (blocked) return { status: 422, body: { error: 'the message contains personal data' } };
  const result = await generateText({
    model,
    prompt: message,
    tools: { calculator },
    stopWhen: stepCountIs(5),
  });
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
