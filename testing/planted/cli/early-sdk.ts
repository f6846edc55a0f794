export { loadOpenai } from '../../../llm/sdk/main.ts';
