import { embed, tool } from 'ai';
import { z } from 'zod';
import { embeddings } from '../models.js';
import { articles } from '../store.js';

export const searchKnowledge = tool({
  description: `Finds articles of the knowledge base.`,
  inputSchema: z.object({ question: z.string() }),
  execute: async ({ question }) => {
    const { embedding } = await embed({ model: embeddings, value: question });
    return articles.search('articles', { vector: embedding, limit: 5 });
  },
});
