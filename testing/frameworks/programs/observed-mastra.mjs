import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { MODEL, QUESTION } from './common.mjs';
import { integration, multiplier, reporter, serveForms } from './observed.mjs';

const detector = (id, blocks) => ({
  id,
  processInput: ({ messages, abort }) => (blocks ? abort('personal data') : messages),
});
const agent = (url, { isFailing, inputProcessors = [detector('pii-detector')], guardrails } = {}) =>
  new Agent({
    id: 'calculator',
    name: 'calculator',
    instructions: 'You calculate.',
    model: createOpenAI({ baseURL: url, apiKey: 'key' }).chat(MODEL),
    maxRetries: 0,
    tools: {
      multiply: createTool({
        id: 'multiply',
        description: 'Multiplies two numbers.',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async (input) => ({ product: multiplier(isFailing)(input) }),
      }),
    },
    ...integration.compliance(reporter, { checkPolicy: true, inputProcessors, guardrails }),
  });

serveForms({
  whole: async (url) => (await agent(url).generate(QUESTION)).text,
  stream: async (url) =>
    new Response((await agent(url).stream(QUESTION)).textStream.pipeThrough(new TextEncoderStream())),
  'failing tool': async (url) => (await agent(url, { isFailing: true }).generate(QUESTION)).text,
  'renamed guardrail': async (url) => {
    const inputProcessors = [detector('own-detector')];
    return (
      await agent(url, { inputProcessors, guardrails: { 'own-detector': 'pii-detector' } }).generate(QUESTION)
    ).text;
  },
  blocked: async (url) => {
    const { text, tripwire } = await agent(url, {
      inputProcessors: [detector('pii-detector', true)],
    }).generate(QUESTION);
    return tripwire === undefined ? text : 'blocked';
  },
  denied: async (url) => (await agent(url, { inputProcessors: [] }).generate(QUESTION)).text,
});
