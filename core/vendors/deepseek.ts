import { openAiLike } from './openai-like.ts';
import type { Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['DEEPSEEK_API_KEY'],
  api: openAiLike('https://api.deepseek.com'),
} as const satisfies Vendor;

export const code: VendorCode = {
  models: /^deepseek-(?:chat|reasoner)/,
  langchain: 'ChatDeepSeek',
};
