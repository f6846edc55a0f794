import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { call } from './common.mjs';

async function callTool(url, name, options) {
  const client = new Client({ name: 'client', version: '1.0.0' });
  const responses = [];
  const recordingFetch = (...request) => {
    const response = fetch(...request);
    responses.push(response);
    return response;
  };
  try {
    await client.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', url), { fetch: recordingFetch }),
    );
    const result = await client.callTool({ name, arguments: {} }, undefined, options);
    // The SDK does not wait for its GET, and closing the client would cut that request.
    await Promise.all(responses);
    return result;
  } finally {
    await client.close();
  }
}

await call({
  tool: (url) => callTool(url, 'tool'),
  'tool with usage': (url) => callTool(url, 'tool_with_usage'),
  'tool with events': (url) => callTool(url, 'tool_with_events'),
  cancel: async (url) => {
    const left = new AbortController();
    try {
      await callTool(url, 'tool', { signal: left.signal, onprogress: () => left.abort() });
    } catch (error) {
      return error.message;
    }
  },
});
