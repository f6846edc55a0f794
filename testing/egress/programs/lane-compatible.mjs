import OpenAI from 'openai';
import { chatForms } from './lane-chat-loop.mjs';

await chatForms(new OpenAI({ baseURL: process.env.LLM_URL, apiKey: process.env.LLM_KEY }), 'gpt-4o-mini');
