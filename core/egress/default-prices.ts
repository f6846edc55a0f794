import { declaredModelName } from '../facts/sightings.ts';
import type { ModelPrice } from '../manifest/manifest.ts';
import { VENDOR_PRICES } from '../vendors/vendors.ts';

/**
 * Day of the prices, YYYY-MM-DD: that of the release 1.106.2 of litellm, whose list of prices per token has every price of the
 * vendors. They were not compared with the pages of the vendors.
 */
export const DEFAULT_PRICES_DATE = '2026-10-21';

/** The prices by the name under which a declared model id is looked up. */
export const DEFAULT_PRICES: ReadonlyMap<string, ModelPrice> = new Map(
  VENDOR_PRICES.flatMap((prices) => Object.entries(prices)).map(
    ([id, [input, output, cachedInput, cacheWrite]]) => [
      declaredModelName(id),
      {
        ...{ input, output },
        ...(cachedInput !== undefined && { cachedInput }),
        ...(cacheWrite !== undefined && { cacheWrite }),
      },
    ],
  ),
);
