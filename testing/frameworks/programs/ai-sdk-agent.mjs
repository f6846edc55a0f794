import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { json, MODEL, QUESTION, serve, sse } from './common.mjs';

const multiply = tool({
  description: 'Multiplies two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a * b,
});
const request = (model, abortSignal) => ({
  ...{ model, abortSignal, prompt: QUESTION, tools: { multiply } },
  stopWhen: stepCountIs(5),
});
const responses = (url) => createOpenAI({ baseURL: url, apiKey: 'key' }).responses(MODEL);
const chat = (url) => createOpenAI({ baseURL: url, apiKey: 'key' }).chat(MODEL);
const anthropic = (url) => createAnthropic({ baseURL: url, apiKey: 'key' })('claude-sonnet-4-5');

serve({
  text: async (url, signal) => json({ text: (await generateText(request(responses(url), signal))).text }),
  'text with usage': async (url, signal) => {
    const { text, usage, totalUsage } = await generateText(request(responses(url), signal));
    return json({ text, usage, totalUsage });
  },
  steps: async (url, signal) => {
    const { text, steps } = await generateText(request(chat(url), signal));
    return json({ text, steps: steps.map(({ finishReason, usage }) => ({ finishReason, usage })) });
  },
  'steps of Anthropic': async (url, signal) => {
    const { text, steps } = await generateText(request(anthropic(url), signal));
    return json({ text, steps: steps.map(({ finishReason, usage }) => ({ finishReason, usage })) });
  },
  'text stream': (url, signal) => streamText(request(responses(url), signal)).toTextStreamResponse(),
  'UI message stream': (url, signal) =>
    streamText(request(responses(url), signal)).toUIMessageStreamResponse(),
  'UI message stream with usage': (url, signal) =>
    streamText(request(chat(url), signal)).toUIMessageStreamResponse({
      messageMetadata: ({ part }) => (part.type === 'finish' ? { totalUsage: part.totalUsage } : undefined),
    }),
  'full stream': (url, signal) => sse(streamText(request(responses(url), signal)).fullStream),
  'full stream of Anthropic': (url, signal) => sse(streamText(request(anthropic(url), signal)).fullStream),
});
