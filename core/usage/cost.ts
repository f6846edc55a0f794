import type { ModelPrice } from '../manifest/manifest.ts';

/** Tokens with one price. Cached and written tokens are parts of `promptTokens`; absent: not known, so they have its price. */
export interface BilledTokens {
  promptTokens: number;
  cachedTokens?: number;
  cacheWriteTokens?: number;
  completionTokens: number;
}

/** The cost of tokens in US dollars. */
export function costOf(tokens: BilledTokens, price: ModelPrice): number {
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const { promptTokens, cachedTokens = 0, cacheWriteTokens = 0, completionTokens } = tokens;
  const plain = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens);
  const total =
    plain * input + cachedTokens * cachedInput + cacheWriteTokens * cacheWrite + completionTokens * output;
  return total / 1e6;
}
