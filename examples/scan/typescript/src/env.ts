import { z } from 'zod';

const schema = z.object({
  ANTHROPIC_API_KEY: z.string(),
  OPENAI_API_KEY: z.string().optional(),
  MODEL: z.string().default('claude-sonnet-4-5'),
  DATABASE_URL: z.url(),
  QDRANT_URL: z.url(),
  TICKETS_MCP_URL: z.url(),
  PORT: z.coerce.number().int().default(3000),
});

export const env = schema.parse(process.env);
