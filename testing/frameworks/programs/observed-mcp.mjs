import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import OpenAI from 'openai';
import { z } from 'zod';
import { MODEL, QUESTION } from './common.mjs';
import { integration, multiplier, reporter, serveForms } from './observed.mjs';

const OPTIONS = { checkPolicy: true, guardrails: { find_pii: 'pii-detector' } };
const numbers = { inputSchema: { a: z.number(), b: z.number() } };
const textOf = (text) => ({ content: [{ type: 'text', text: String(text) }] });

function createServer(url, { installsLate = false } = {}) {
  const server = new McpServer({ name: 'calculator', version: '1.0.0' });
  if (!installsLate) integration.install(reporter, server, OPTIONS);
  server.registerTool('multiply', numbers, async (input) => textOf(multiplier()(input)));
  server.registerTool('failing', numbers, async (input) => textOf(multiplier(true)(input)));
  server.registerTool('find_pii', numbers, async () => textOf('none'));
  // A tool that calls a model.
  server.registerTool('ask', numbers, async () => {
    const client = new OpenAI({ baseURL: url, apiKey: 'key', maxRetries: 0 });
    const messages = [{ role: 'user', content: QUESTION }];
    const { id, choices, usage } = await client.chat.completions.create({ model: MODEL, messages });
    const count = () => reporter.behavior().model(MODEL, usage.prompt_tokens, usage.completion_tokens, id);
    // Counted once, because the id is the same.
    count();
    count();
    return textOf(choices[0].message.content);
  });
  // Tools that call a model through the client.
  const sampling = async () => {
    const { content } = await server.server.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: QUESTION } }],
      maxTokens: 10,
    });
    return textOf(content.text);
  };
  server.registerTool('sample', numbers, sampling);
  server.registerTool('sample_guarded', numbers, () => {
    reporter.behavior().guardrail('pii-detector');
    return sampling();
  });
  if (installsLate) integration.install(reporter, server, OPTIONS);
  return server;
}

/** Serves the request of the form: a tool call over streamable HTTP. */
const http = (options) => async (url, request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, ...options });
  await createServer(url, options).connect(transport);
  await transport.handleRequest(request, response);
  await new Promise((resolve) => response.once('close', resolve));
};

/** Calls a tool with a client that has a model. */
const inMemory = (name) => async (url) => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'client', version: '1.0.0' }, { capabilities: { sampling: {} } });
  let sampled = 0;
  client.setRequestHandler(CreateMessageRequestSchema, () => {
    sampled += 1;
    return { model: MODEL, role: 'assistant', content: { type: 'text', text: 'sampled' } };
  });
  await createServer(url).connect(far);
  await client.connect(near);
  const { content, isError } = await client.callTool({ name, arguments: { a: 6, b: 7 } });
  return { text: content[0].text, isError: isError === true, sampled };
};

serveForms({
  whole: http({ enableJsonResponse: true }),
  stream: http({}),
  'installed after the tools': http({ installsLate: true }),
  'sampling after a guardrail': inMemory('sample_guarded'),
  denied: inMemory('sample'),
});
