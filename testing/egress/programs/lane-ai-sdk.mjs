// VENDOR: the provider of the AI SDK.
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const MODELS = {
  openai: async () => (await import('@ai-sdk/openai')).openai('gpt-4o-mini'),
  'openai chat': async () => (await import('@ai-sdk/openai')).openai.chat('gpt-4o-mini'),
  anthropic: async () => (await import('@ai-sdk/anthropic')).anthropic('claude-sonnet-4-5'),
};
const model = await MODELS[process.env.VENDOR]();

const toolsOf = (tools) =>
  Object.fromEntries(
    tools.map(({ name, description, parameters }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters), execute: (input) => runTool(name, input) }),
    ]),
  );
const request = (tools) => ({
  ...{ model, prompt: QUESTION, stopWhen: stepCountIs(5), maxRetries: 2 },
  ...(tools && { tools: toolsOf(tools) }),
});
const whole = async (tools) => {
  const { text, totalUsage, finishReason } = await generateText(request(tools));
  return { text, totalUsage, finishReason };
};
const streamed = async (tools) => {
  const parts = await Array.fromAsync(streamText(request(tools)).fullStream);
  const failure = parts.find(({ type }) => type === 'error');
  if (failure) throw failure.error;
  // Parts of several tools may come in another order; times differ.
  return {
    types: parts.map(({ type }) => type),
    text: parts.map(({ type, text }) => (type === 'text-delta' ? text : '')).join(''),
  };
};

await forms({
  text: () => whole(),
  stream: () => streamed(),
  tools: () => whole(DECLARED),
  'tools stream': () => streamed(DECLARED),
  undeclared: () => whole(UNDECLARED),
});
