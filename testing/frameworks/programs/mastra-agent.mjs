import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { json, MODEL, QUESTION, serve, sse } from './common.mjs';

const multiply = createTool({
  id: 'multiply',
  description: 'Multiplies two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ product: a * b }),
});
const agent = (url) =>
  new Agent({
    id: 'calculator',
    name: 'calculator',
    instructions: 'You calculate.',
    model: createOpenAI({ baseURL: url, apiKey: 'key' }).chat(MODEL),
    tools: { multiply },
  });

serve({
  text: async (url, abortSignal) =>
    json({ text: (await agent(url).generate(QUESTION, { abortSignal })).text }),
  result: async (url, abortSignal) => {
    const { text, usage, totalUsage, finishReason } = await agent(url).generate(QUESTION, { abortSignal });
    return json({ text, usage, totalUsage, finishReason });
  },
  'full output': async (url, abortSignal) => json(await agent(url).generate(QUESTION, { abortSignal })),
  'full stream': async (url, abortSignal) =>
    sse((await agent(url).stream(QUESTION, { abortSignal })).fullStream),
});
