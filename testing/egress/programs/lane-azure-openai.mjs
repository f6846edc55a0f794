import { AzureOpenAI } from 'openai';
import { chatForms } from './lane-chat-loop.mjs';

await chatForms(new AzureOpenAI({ apiVersion: '2024-10-21' }), 'gpt-4o-mini');
