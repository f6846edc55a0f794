import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { json, MODEL, QUESTION, serve, sse } from './common.mjs';

const multiply = tool(({ a, b }) => String(a * b), {
  name: 'multiply',
  description: 'Multiplies two numbers.',
  schema: z.object({ a: z.number(), b: z.number() }),
});
const INPUT = { messages: [{ role: 'user', content: QUESTION }] };
const agent = (url) =>
  createAgent({
    model: new ChatOpenAI({ model: MODEL, apiKey: 'key', maxRetries: 2, configuration: { baseURL: url } }),
    tools: [multiply],
  });
/** Messages as in LangGraph's own server: their members, without the constructor envelope. */
const plain = (value) =>
  JSON.parse(JSON.stringify(value), (_key, each) =>
    each?.lc === 1 ? { type: each.id.at(-1), ...each.kwargs } : each,
  );

serve({
  state: async (url, signal) => json(plain(await agent(url).invoke(INPUT, { signal }))),
  'serialized state': async (url, signal) => json(await agent(url).invoke(INPUT, { signal })),
  text: async (url, signal) =>
    new Response((await agent(url).invoke(INPUT, { signal })).messages.at(-1).content),
  updates: async (url, signal) =>
    sse(await agent(url).stream(INPUT, { signal, streamMode: 'updates' }), plain),
  values: async (url, signal) => sse(await agent(url).stream(INPUT, { signal, streamMode: 'values' }), plain),
  messages: async (url, signal) => sse(await agent(url).stream(INPUT, { signal, streamMode: 'messages' })),
  'updates and messages': async (url, signal) =>
    sse(await agent(url).stream(INPUT, { signal, streamMode: ['updates', 'messages'] }), plain),
  events: async (url, signal) => sse(agent(url).streamEvents(INPUT, { signal, version: 'v2' }), plain),
});
