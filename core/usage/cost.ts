import type { ModelPrice } from '../manifest/manifest.ts';
import type { ModelUsage } from '../shapes/egress-call.ts';

/** Tokens with one price. Cached and written tokens are parts of `promptTokens`; absent: not known, so they have its price. */
export type BilledTokens = Pick<ModelUsage, 'promptTokens' | 'completionTokens'> &
  Partial<Pick<ModelUsage, 'cachedTokens' | 'cacheWriteTokens'>>;

/** The cost of tokens in US dollars. */
export function costOf(tokens: BilledTokens, price: ModelPrice): number {
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const { promptTokens, cachedTokens = 0, cacheWriteTokens = 0, completionTokens } = tokens;
  const plain = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens);
  const total =
    plain * input + cachedTokens * cachedInput + cacheWriteTokens * cacheWrite + completionTokens * output;
  return total / 1e6;
}
