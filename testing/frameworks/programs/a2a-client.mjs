import { Role } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { call } from './common.mjs';

const at = (url) => new ClientFactory().createFromUrl(url);
const messageOf = (value) => ({
  ...{ tenant: '', configuration: undefined, metadata: undefined },
  message: {
    ...{ messageId: 'message', contextId: '', taskId: '', role: Role.ROLE_USER, metadata: undefined },
    parts: [
      { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' },
    ],
    ...{ extensions: [], referenceTaskIds: [] },
  },
});

await call({
  'message with usage': async (url) => (await at(url)).sendMessage(messageOf('usage')),
  message: async (url) => (await at(url)).sendMessage(messageOf('plain')),
  'stream with usage': async (url) => Array.fromAsync((await at(url)).sendMessageStream(messageOf('usage'))),
  cancel: async (url) => {
    const left = new AbortController();
    try {
      const events = (await at(url)).sendMessageStream(messageOf('usage'), { signal: left.signal });
      for await (const { payload } of events) if (payload?.$case === 'artifactUpdate') left.abort();
    } catch (error) {
      return error.name;
    }
  },
});
