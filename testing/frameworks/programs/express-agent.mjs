// An agent without a framework, with Express: returns its own JSON or the vendor's, or reports its calls as events.
import express from 'express';
import OpenAI from 'openai';
import { chainOf, MODEL, QUESTION } from './common.mjs';

const { MODEL_URL, DENYING_URL, EVENTS_URL, PORT } = process.env;
const messages = [{ role: 'user', content: QUESTION }];
const at = (baseURL) => new OpenAI({ baseURL, apiKey: 'key' }).chat.completions;

const FORMS = {
  text: async (_request, response) => response.json({ reply: textOf(await twoCalls()) }),
  'two completions': async (_request, response) => {
    const [draft, reply] = await twoCalls();
    response.json({ draft, reply });
  },
  stream: async (_request, response) => {
    const chunks = await at(MODEL_URL).create({
      ...{ model: MODEL, messages, stream: true, stream_options: { include_usage: true } },
    });
    response.on('close', () => chunks.controller.abort());
    response.type('text/event-stream');
    for await (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end();
  },
  'text with events': async (request, response) => {
    const completions = await twoCalls();
    const events = completions.map(({ model, usage }) => ({
      ...{ type: 'model', modelId: model },
      ...{ promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens },
    }));
    const body = JSON.stringify({ requestId: request.get('x-request-id') ?? 'none', events });
    await fetch(EVENTS_URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    response.json({ reply: textOf(completions) });
  },
  denied: async (_request, response) => {
    try {
      await at(DENYING_URL).create({ model: MODEL, messages });
    } catch (error) {
      response.json(chainOf(error));
    }
  },
};

async function twoCalls() {
  return [
    await at(MODEL_URL).create({ model: MODEL, messages }),
    await at(MODEL_URL).create({ model: MODEL, messages }),
  ];
}

const textOf = (completions) => completions.at(-1).choices[0].message.content;

express()
  .post('/v1/chat', (request, response) => FORMS[request.query.answer](request, response))
  .listen(Number(PORT), '127.0.0.1');
