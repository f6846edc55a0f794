import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const SCHEMAS = {
  multiply: z.object({ a: z.number(), b: z.number() }),
  delete_order: z.object({ order: z.string() }),
  drop_table: z.object({}),
};
const agent = (tools) =>
  new Agent({
    id: 'calculator',
    name: 'calculator',
    instructions: 'You calculate.',
    // The router of Mastra, which has the vendor in the name of the model.
    model: 'openai/gpt-4o-mini',
    tools: Object.fromEntries(
      tools.map(({ name, description }) => [
        name,
        createTool({
          id: name,
          description,
          inputSchema: SCHEMAS[name],
          execute: async (input) => ({ result: runTool(name, input) }),
        }),
      ]),
    ),
  });
const whole = async (tools) => {
  const { text, totalUsage, finishReason } = await agent(tools).generate(QUESTION, { maxRetries: 0 });
  return { text, totalUsage, finishReason };
};
const streamed = async (tools) => {
  const { fullStream } = await agent(tools).stream(QUESTION);
  const parts = await Array.fromAsync(fullStream);
  return parts.map(({ type, payload }) => [type, type === 'text-delta' ? payload.text : '']);
};

await forms({
  text: () => whole([]),
  stream: () => streamed([]),
  tools: () => whole(DECLARED),
  'tools stream': () => streamed(DECLARED),
  undeclared: () => whole(UNDECLARED),
});
