import * as agents from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { MODEL, QUESTION } from './common.mjs';
import { Blocked, integration, multiplier, reporter, serveForms } from './observed.mjs';

const { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, tool } = agents;

// Without the SDK's own exporter, which sends traces to OpenAI.
agents.setTraceProcessors([]);
integration.install(reporter, {
  agents,
  checkPolicy: true,
  guardrails: { 'no personal data': 'pii-detector' },
});

const guardrail = (name, tripwireTriggered = false) => ({
  name,
  runInParallel: false,
  execute: async () => ({ tripwireTriggered, outputInfo: null }),
});
const agent = (url, { Model = OpenAIResponsesModel, isFailing, inputGuardrails } = {}) =>
  new Agent({
    name: 'calculator',
    instructions: 'You calculate.',
    model: new Model(new OpenAI({ baseURL: url, apiKey: 'key', maxRetries: 0 }), MODEL),
    inputGuardrails: inputGuardrails ?? [guardrail('pii-detector')],
    tools: [
      tool({
        name: 'multiply',
        description: 'Multiplies two numbers.',
        parameters: z.object({ a: z.number(), b: z.number() }),
        execute: async (input) => String(multiplier(isFailing)(input)),
      }),
    ],
  });
const text = async (result) => (await result).finalOutput;
const streamed = async (agent) =>
  new Response(
    (await run(agent, QUESTION, { stream: true })).toTextStream().pipeThrough(new TextEncoderStream()),
  );

serveForms({
  whole: (url) => text(run(agent(url), QUESTION)),
  'chat completions': (url) => text(run(agent(url, { Model: OpenAIChatCompletionsModel }), QUESTION)),
  stream: (url) => streamed(agent(url)),
  'stream of chat completions': (url) => streamed(agent(url, { Model: OpenAIChatCompletionsModel })),
  'failing tool': (url) => text(run(agent(url, { isFailing: true }), QUESTION)),
  'renamed guardrail': (url) =>
    text(run(agent(url, { inputGuardrails: [guardrail('no personal data')] }), QUESTION)),
  'guardrail in parallel': (url) =>
    text(
      run(agent(url, { inputGuardrails: [{ ...guardrail('pii-detector'), runInParallel: true }] }), QUESTION),
    ),
  blocked: async (url) => {
    try {
      return await text(run(agent(url, { inputGuardrails: [guardrail('pii-detector', true)] }), QUESTION));
    } catch (error) {
      throw new Blocked(error.message);
    }
  },
  denied: (url) => text(run(agent(url, { inputGuardrails: [] }), QUESTION)),
  'denied stream': async (url) => {
    const result = await run(agent(url, { inputGuardrails: [] }), QUESTION, { stream: true });
    await result.completed;
    return result.finalOutput;
  },
});
