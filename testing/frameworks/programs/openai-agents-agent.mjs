import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { json, MODEL, QUESTION, serve, sse } from './common.mjs';

const multiply = tool({
  name: 'multiply',
  description: 'Multiplies two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a * b),
});
const agent = (url, Model = OpenAIResponsesModel) =>
  new Agent({
    name: 'calculator',
    instructions: 'You calculate.',
    model: new Model(new OpenAI({ baseURL: url, apiKey: 'key' }), MODEL),
    tools: [multiply],
  });
const dataOf = ({ type, name, data }) => ({ type, name, data });

serve({
  output: async (url, signal) => json({ output: (await run(agent(url), QUESTION, { signal })).finalOutput }),
  state: async (url, signal) => json((await run(agent(url), QUESTION, { signal })).state),
  'raw responses': async (url, signal) => json((await run(agent(url), QUESTION, { signal })).rawResponses),
  'raw chat completions': async (url, signal) =>
    json((await run(agent(url, OpenAIChatCompletionsModel), QUESTION, { signal })).rawResponses),
  events: async (url, signal) => sse(await run(agent(url), QUESTION, { stream: true, signal }), dataOf),
  'events of chat completions': async (url, signal) =>
    sse(await run(agent(url, OpenAIChatCompletionsModel), QUESTION, { stream: true, signal }), dataOf),
  'text stream': async (url, signal) =>
    new Response(
      (await run(agent(url), QUESTION, { stream: true, signal }))
        .toTextStream()
        .pipeThrough(new TextEncoderStream()),
      {
        headers: { 'content-type': 'text/plain' },
      },
    ),
});
