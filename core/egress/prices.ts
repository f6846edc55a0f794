import { declaredModelName, modelNamesOf } from '../facts/sightings.ts';
import type { Manifest, ModelPrice } from '../manifest/manifest.ts';
import { tokenPriceOf } from '../manifest/token-price.ts';
import { costOf } from '../usage/cost.ts';
import type { ModelUsage } from '../shapes/usage.ts';
import { DEFAULT_PRICES, DEFAULT_PRICES_DATE } from './default-prices.ts';

export interface KnownPrice {
  price: ModelPrice;
  /** Day of the price, YYYY-MM-DD, if it is from the default table; null: the manifest declares it. */
  date: string | null;
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
  if (fromManifest !== undefined) return { price: fromManifest, date: null };
  const price = firstIn(DEFAULT_PRICES, names);
  return price === undefined ? null : { price, date: DEFAULT_PRICES_DATE };
}

function firstIn(prices: ReadonlyMap<string, ModelPrice>, names: readonly string[]): ModelPrice | undefined {
  return names.flatMap((name) => prices.get(name) ?? [])[0];
}

/**
 * The cost of a usage report in US dollars: of the models whose price is known; null: the price of no model is known. As on lanes, all
 * that is not prompt is completion.
 */
export function costOfModels(manifest: Manifest, models: readonly ModelUsage[]): number | null {
  const costs = models.flatMap(({ modelId, promptTokens, totalTokens }) => {
    const known = priceOf(manifest, modelId);
    const tokens = { promptTokens, completionTokens: totalTokens - promptTokens };
    return known === null ? [] : [costOf(tokens, known.price)];
  });
  return costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
}
