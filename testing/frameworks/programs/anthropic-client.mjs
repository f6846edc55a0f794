import Anthropic from '@anthropic-ai/sdk';
import { call, QUESTION } from './common.mjs';

const at = (url) => new Anthropic({ baseURL: url.replace(/\/v1$/, ''), apiKey: 'key' });
const request = {
  model: 'claude-sonnet-4-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: QUESTION }],
};

await call({
  messages: (url) => at(url).messages.create(request),
  'messages stream': (url) => at(url).messages.stream(request).finalMessage(),
  cancel: async (url) => {
    const stream = await at(url).messages.create({ ...request, stream: true });
    for await (const _event of stream) stream.controller.abort();
    return 'cancelled';
  },
});
