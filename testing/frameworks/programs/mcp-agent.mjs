// An MCP server whose tools call a model.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { usageAfter } from './one-call.mjs';

const { MODEL_URL, EVENTS_URL, PORT } = process.env;
const TEXT = 'Six times seven is “42”.';

function createServer() {
  const server = new McpServer({ name: 'calculator', version: '1.0.0' });
  const tool = (name, resultOf) =>
    server.registerTool(name, { description: 'Calculates' }, async (extra) => {
      const progressToken = extra._meta?.progressToken;
      const onText = () =>
        progressToken !== undefined &&
        extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress: 1 },
        });
      return await resultOf(await usageAfter(MODEL_URL, onText, extra.signal), extra);
    });
  const text = { content: [{ type: 'text', text: TEXT }] };
  tool('tool', () => text);
  tool('tool_with_usage', (usage) => ({ ...text, structuredContent: { text: TEXT, usage } }));
  tool('tool_with_events', async (usage, { requestInfo }) => {
    const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = usage;
    const event = { type: 'model', modelId: 'gpt-4o-mini', promptTokens, completionTokens };
    const requestId = requestInfo.headers['x-request-id'] ?? 'none';
    const headers = { 'content-type': 'application/json' };
    await fetch(EVENTS_URL, {
      ...{ method: 'POST', headers },
      body: JSON.stringify({ requestId, events: [event] }),
    });
    return text;
  });
  return server;
}

express()
  .post('/mcp', async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await createServer().connect(transport);
    response.on('close', () => transport.close());
    await transport.handleRequest(request, response);
  })
  .all('/mcp', (_request, response) => response.status(405).end())
  .listen(Number(PORT), '127.0.0.1');
