import { evalite } from 'evalite';
import { createAgent } from '../src/agent.js';

evalite('answers', {
  data: () => [{ input: 'How do I reset my password?', expected: 'settings' }],
  task: async (input) => (await (await createAgent()).generate({ prompt: input })).text,
  scorers: [],
});
