import { createAnthropic } from '@ai-sdk/anthropic';
import { openai } from '@ai-sdk/openai';
import { env } from './env.js';

const anthropic = createAnthropic({ apiKey: env.ANTHROPIC_API_KEY });

/** The model of the agent. */
export const model = anthropic(env.MODEL);

/** Writes the titles of tickets; 'gpt-4o' was too expensive for that. */
export const titleModel = openai('gpt-4.1-mini');

export const embeddings = openai.textEmbeddingModel('text-embedding-3-small');
