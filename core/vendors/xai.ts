import { openAiLike } from './openai-like.ts';
import type { Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: ['x-ai', 'grok'],
  keys: ['XAI_API_KEY'],
  api: openAiLike('https://api.x.ai/v1'),
} as const satisfies Vendor;

export const code: VendorCode = {
  models: /^grok-/,
  langchain: 'ChatXAI',
};
