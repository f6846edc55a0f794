import { declaredModelName, modelNamesOf } from '../evidence/sightings.ts';
import type { Manifest, ModelPrice } from '../manifest/manifest.ts';
import { tokenPriceOf } from '../manifest/token-price.ts';

/** Day of the default prices, YYYY-MM-DD. They are public list prices of that day; not verified with the vendors. */
export const DEFAULT_PRICES_DATE = '2025-10-01';

type Prices = readonly [input: number, output: number, cachedInput?: number, cacheWrite?: number];

/** US dollars per million tokens by model id without a date. */
const DEFAULT_PRICES: Readonly<Record<string, Prices>> = {
  'gpt-5': [1.25, 10, 0.125],
  'gpt-5-mini': [0.25, 2, 0.025],
  'gpt-5-nano': [0.05, 0.4, 0.005],
  'gpt-4.1': [2, 8, 0.5],
  'gpt-4.1-mini': [0.4, 1.6, 0.1],
  'gpt-4.1-nano': [0.1, 0.4, 0.025],
  'gpt-4o': [2.5, 10, 1.25],
  'gpt-4o-mini': [0.15, 0.6, 0.075],
  o1: [15, 60, 7.5],
  o3: [2, 8, 0.5],
  'o3-mini': [1.1, 4.4, 0.55],
  'o4-mini': [1.1, 4.4, 0.275],
  'text-embedding-3-small': [0.02, 0],
  'text-embedding-3-large': [0.13, 0],
  'claude-opus-4-1': [15, 75, 1.5, 18.75],
  'claude-opus-4': [15, 75, 1.5, 18.75],
  'claude-sonnet-4-5': [3, 15, 0.3, 3.75],
  'claude-sonnet-4': [3, 15, 0.3, 3.75],
  'claude-haiku-4-5': [1, 5, 0.1, 1.25],
  'claude-3-7-sonnet': [3, 15, 0.3, 3.75],
  'claude-3-5-sonnet': [3, 15, 0.3, 3.75],
  'claude-3-5-haiku': [0.8, 4, 0.08, 1],
  'gemini-2.5-pro': [1.25, 10, 0.31],
  'gemini-2.5-flash': [0.3, 2.5, 0.075],
  'gemini-2.5-flash-lite': [0.1, 0.4, 0.025],
  'gemini-2.0-flash': [0.1, 0.4, 0.025],
  'mistral-large': [2, 6],
  'mistral-medium': [0.4, 2],
  'mistral-small': [0.1, 0.3],
  'llama-3.3-70b-versatile': [0.59, 0.79],
  'llama-3.1-8b-instant': [0.05, 0.08],
  'command-a': [2.5, 10],
  'command-r-plus': [2.5, 10],
  'command-r': [0.15, 0.6],
};

const DEFAULTS: ReadonlyMap<string, ModelPrice> = new Map(
  Object.entries(DEFAULT_PRICES).map(([id, [input, output, cachedInput, cacheWrite]]) => [
    declaredModelName(id),
    {
      ...{ input, output },
      ...(cachedInput !== undefined && { cachedInput }),
      ...(cacheWrite !== undefined && { cacheWrite }),
    },
  ]),
);

export interface KnownPrice {
  price: ModelPrice;
  /** `default`: from the table in this file. */
  source: 'manifest' | 'default';
}

/**
 * The price of a requested model: `spec.model.prices`, `usdPerMillionTokens` for the declared model, else the default price.
 * An id without a price of its own has the price of the id without its date. null: the price is unknown.
 */
export function priceOf(manifest: Manifest, modelId: string): KnownPrice | null {
  const { id, prices = {} } = manifest.spec.model;
  const declared = new Map(Object.entries(prices).map(([key, price]) => [declaredModelName(key), price]));
  const own = tokenPriceOf(manifest);
  const ownName = declaredModelName(id);
  if (own !== undefined && !declared.has(ownName)) declared.set(ownName, own);
  const names = modelNamesOf(modelId);
  const fromManifest = firstIn(declared, names);
  if (fromManifest !== undefined) return { price: fromManifest, source: 'manifest' };
  const price = firstIn(DEFAULTS, names);
  return price === undefined ? null : { price, source: 'default' };
}

function firstIn(prices: ReadonlyMap<string, ModelPrice>, names: readonly string[]): ModelPrice | undefined {
  return names.flatMap((name) => prices.get(name) ?? [])[0];
}

/** Tokens of one call. Cached and written tokens are parts of `promptTokens`. */
export interface BilledTokens {
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
}

/** The cost of one call in US dollars. */
export function costOf(usage: BilledTokens, price: ModelPrice): number {
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const { promptTokens, cachedTokens, cacheWriteTokens, completionTokens } = usage;
  const plain = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens);
  const total =
    plain * input + cachedTokens * cachedInput + cacheWriteTokens * cacheWrite + completionTokens * output;
  return total / 1e6;
}
