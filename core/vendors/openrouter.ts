import { openAiLike } from './openai-like.ts';
import type { Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['OPENROUTER_API_KEY'],
  // The model list is public there, so it does not verify the key.
  api: openAiLike('https://openrouter.ai/api/v1', '/key'),
} as const satisfies Vendor;

export const code: VendorCode = {};
