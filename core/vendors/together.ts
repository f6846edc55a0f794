import { openAiLike } from './openai-like.ts';
import type { Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: ['togetherai'],
  keys: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY'],
  api: openAiLike('https://api.together.xyz/v1'),
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['together_ai'],
  host: /^https:\/\/api\.together\.(?:xyz|ai)\b/,
  methods: [{ modules: 'together|together-ai', path: 'chat\\.completions\\.create' }],
  langchain: 'ChatTogether',
};
