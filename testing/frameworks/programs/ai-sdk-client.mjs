// Does the same as `useChat`, without a page.
import { DefaultChatTransport } from 'ai';
import { call, QUESTION } from './common.mjs';

const stream = (url, form, abortSignal) =>
  new DefaultChatTransport({ api: `${url}/v1/chat?answer=${encodeURIComponent(form)}` }).sendMessages({
    ...{ chatId: 'chat', trigger: 'submit-message', messageId: undefined, abortSignal },
    messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: QUESTION }] }],
  });

await call({
  'UI message stream with usage': async (url) =>
    Array.fromAsync(await stream(url, 'UI message stream with usage')),
  'UI message stream': async (url) => Array.fromAsync(await stream(url, 'UI message stream')),
  cancel: async (url) => {
    const left = new AbortController();
    try {
      for await (const { type } of await stream(url, 'UI message stream', left.signal))
        if (type === 'text-delta') left.abort();
    } catch (error) {
      return error.name;
    }
  },
});
