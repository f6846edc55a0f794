import OpenAI from 'openai';
import { chatForms } from './lane-chat-loop.mjs';

await chatForms(new OpenAI(), 'gpt-4o-mini');
