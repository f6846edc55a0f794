import { z } from 'zod';
import { MODEL, QUESTION } from './common.mjs';
import { Blocked, integration, multiplier, reporter, serveForms } from './observed.mjs';

// Earlier versions are installed under other names.
const {
  AI_SDK = 'ai',
  AI_SDK_OPENAI = '@ai-sdk/openai',
  AI_SDK_ANTHROPIC = '@ai-sdk/anthropic',
} = process.env;
const { createAnthropic } = await import(AI_SDK_ANTHROPIC);
const { createOpenAI } = await import(AI_SDK_OPENAI);
const { generateText, stepCountIs, streamText, tool, wrapLanguageModel } = await import(AI_SDK);

const observed = (model, options = {}) =>
  wrapLanguageModel({
    model,
    middleware: integration.compliance(reporter, { checkPolicy: true, ...options }),
  });
const chat = (url) => createOpenAI({ baseURL: url, apiKey: 'key' }).chat(MODEL);
const request = (model, isFailing = false, name = 'multiply') => ({
  model: observed(model, { guardrails: ['pii-tool'] }),
  prompt: QUESTION,
  maxRetries: 0,
  stopWhen: stepCountIs(5),
  tools: {
    [name]: tool({
      description: 'Multiplies two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: multiplier(isFailing),
    }),
  },
});
/** The AI SDK has no guardrails: the agent calls its own. */
const guard = (blocked = false) => {
  reporter.behavior().guardrail('pii-detector', { blocked });
  if (blocked) throw new Blocked('personal data');
};

serveForms({
  whole: async (url) => (guard(), (await generateText(request(chat(url)))).text),
  responses: async (url) => {
    guard();
    const model = createOpenAI({ baseURL: url, apiKey: 'key' }).responses(MODEL);
    return (await generateText(request(model))).text;
  },
  stream: (url) => (guard(), streamText(request(chat(url))).toTextStreamResponse()),
  'stream of Anthropic': (url) => {
    guard();
    const model = createAnthropic({ baseURL: url, apiKey: 'key' })(MODEL);
    return streamText(request(model)).toTextStreamResponse();
  },
  'failing tool': async (url) => (guard(), (await generateText(request(chat(url), true))).text),
  'without telemetry': async (url) => {
    guard();
    return (await generateText({ ...request(chat(url)), telemetry: { isEnabled: false } })).text;
  },
  'guardrail as tool': async (url) => (
    guard(),
    (await generateText(request(chat(url), false, 'pii-tool'))).text
  ),
  blocked: () => guard(true),
  denied: async (url) => (await generateText(request(chat(url)))).text,
  'denied stream': async (url) => {
    let failure;
    const result = streamText({ ...request(chat(url)), onError: ({ error }) => (failure = error) });
    await result.consumeStream();
    throw failure;
  },
});
