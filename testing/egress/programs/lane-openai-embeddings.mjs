import OpenAI from 'openai';
import { forms, QUESTION } from './lane-tools.mjs';

const client = new OpenAI();
await forms({
  text: () => client.embeddings.create({ model: 'text-embedding-3-small', input: QUESTION }),
});
