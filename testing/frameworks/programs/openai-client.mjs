import OpenAI from 'openai';
import { call, MODEL, QUESTION } from './common.mjs';

const at = (url) => new OpenAI({ baseURL: url, apiKey: 'key' });
const messages = [{ role: 'user', content: QUESTION }];
const streamed = (url) =>
  at(url).chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });

await call({
  chat: (url) => at(url).chat.completions.create({ model: MODEL, messages }),
  'chat stream': async (url) => Array.fromAsync(await streamed(url)),
  'chat stream without usage': async (url) =>
    Array.fromAsync(await at(url).chat.completions.create({ model: MODEL, messages, stream: true })),
  responses: (url) => at(url).responses.create({ model: MODEL, input: QUESTION }),
  'responses stream': async (url) =>
    Array.fromAsync(await at(url).responses.create({ model: MODEL, input: QUESTION, stream: true })),
  cancel: async (url) => {
    const stream = await streamed(url);
    for await (const _chunk of stream) stream.controller.abort();
    return 'cancelled';
  },
});
