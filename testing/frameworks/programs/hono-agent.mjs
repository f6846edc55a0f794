// An agent without a framework, with Hono: forwards the responses of Anthropic's client.
import Anthropic from '@anthropic-ai/sdk';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { chainOf, QUESTION } from './common.mjs';

const { MODEL_URL, DENYING_URL, PORT } = process.env;
const at = (url) => new Anthropic({ baseURL: url.replace(/\/v1$/, ''), apiKey: 'key' }).messages;
const request = {
  model: 'claude-sonnet-4-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: QUESTION }],
};

const FORMS = {
  message: async (context) => context.json(await at(MODEL_URL).create(request)),
  text: async (context) => context.text((await at(MODEL_URL).create(request)).content[0].text),
  stream: (context) =>
    streamSSE(context, async (stream) => {
      const events = await at(MODEL_URL).create({ ...request, stream: true });
      stream.onAbort(() => events.controller.abort());
      for await (const event of events)
        await stream.writeSSE({ event: event.type, data: JSON.stringify(event) });
    }),
  denied: async (context) => {
    try {
      return context.json(await at(DENYING_URL).create(request));
    } catch (error) {
      return context.json(chainOf(error));
    }
  },
};

const app = new Hono();
app.post('/v1/chat', (context) => FORMS[context.req.query('answer')](context));
serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' });
