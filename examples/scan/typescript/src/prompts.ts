import { readFileSync } from 'node:fs';

export const systemPrompt = readFileSync(new URL('../prompts/system.md', import.meta.url), 'utf8');
