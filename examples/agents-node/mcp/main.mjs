// An MCP server with the MCP SDK: one tool calculates, the other one asks a model.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { install } from 'agent-compliance/integrations/mcp';
import { createReporter } from 'agent-compliance/reporter';
import OpenAI from 'openai';
import { parse } from 'yaml';
import { z } from 'zod';

const PERSONAL_DATA = /[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b/;
const TOOLS = ['calculator', 'ask'];

const reporter = createReporter({ manifest: parse(readFileSync('agent.yaml', 'utf8')), tools: TOOLS });
reporter.start();
const client = new OpenAI();

/** A server of its own for each request, because this server keeps no sessions. */
function createMcpServer() {
  const server = new McpServer({ name: 'calculator', version: '1.0.0' });
  install(reporter, server);
  server.registerTool(
    'calculator',
    { description: 'Multiplies two numbers.', inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => {
      detectPersonalData(`${a} ${b}`);
      return textResult(String(a * b));
    },
  );
  server.registerTool(
    'ask',
    { description: 'Answers a question about numbers.', inputSchema: { message: z.string() } },
    async ({ message }) => textResult(await ask(message)),
  );
  return server;
}

const textResult = (text) => ({ content: [{ type: 'text', text }] });

/** The guardrail that agent.yaml declares for every input. */
function detectPersonalData(input) {
  const blocked = PERSONAL_DATA.test(input);
  reporter.behavior().guardrail('pii-detector', { blocked });
  if (blocked) throw new Error('the input contains personal data');
}

async function ask(message) {
  detectPersonalData(message);
  const behavior = reporter.behavior();
  // A denial becomes an error of the tool, as every exception does.
  await reporter.checkPolicy(behavior.facts());
  const completion = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: message }],
  });
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = completion.usage;
  behavior.model(completion.model, promptTokens, completionTokens);
  return completion.choices[0].message.content;
}

async function serveMcp(request, response) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await createMcpServer().connect(transport);
  response.once('close', () => transport.close());
  await transport.handleRequest(request, response);
}

createServer((request, response) => {
  if (reporter.handle(request, response)) return;
  if (request.method === 'POST' && request.url === '/mcp') return void serveMcp(request, response);
  const bodies = { '/health': { status: 'ok' }, '/capabilities': { tools: TOOLS } };
  const body = bodies[request.url];
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body ?? { error: 'not found' }));
}).listen(Number(process.env.PORT ?? 8000), process.env.HOST ?? '127.0.0.1');
