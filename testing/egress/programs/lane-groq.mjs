import Groq from 'groq-sdk';
import { chatForms } from './lane-chat-loop.mjs';

await chatForms(new Groq(), 'llama-3.3-70b-versatile');
