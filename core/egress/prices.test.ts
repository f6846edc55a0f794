import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { Model } from '../manifest/manifest.ts';
import { DEFAULT_PRICES, DEFAULT_PRICES_DATE } from './default-prices.ts';
import { costOf } from '../usage/cost.ts';
import { costOfModels, priceOf } from './prices.ts';

const model = (more: Partial<Model> = {}): { model: Model } => ({
  model: { provider: 'openai', id: 'gpt-4o', apiKey: 'k', ...more },
});

describe('the price of a model', () => {
  test.each<[string, Partial<Model>, string, [number, 'manifest' | 'default'] | null]>([
    ['from the default table', {}, 'gpt-4o', [2.5, 'default']],
    ['of a dated version', {}, 'gpt-4o-2024-08-06', [2.5, 'default']],
    ['of a dated version of Anthropic', {}, 'claude-sonnet-4-5-20250929', [3, 'default']],
    ['behind a gateway', {}, 'anthropic/claude-haiku-4-5', [1, 'default']],
    ['of a smaller variant', {}, 'gpt-4o-mini', [0.15, 'default']],
    ['that nothing gives', {}, 'my-model', null],
    ['of a model of xAI behind a gateway', {}, 'xai/grok-4.5', [2, 'default']],
    ['from the manifest', { prices: { 'my-model': { input: 7, output: 8 } } }, 'my-model', [7, 'manifest']],
    [
      'from the manifest, dated',
      { prices: { 'gpt-4o': { input: 7, output: 8 } } },
      'gpt-4o-2024-08-06',
      [7, 'manifest'],
    ],
    ['behind a gateway', {}, 'anthropic/claude-haiku-4-5', [1, 'default']],
    ['of a date with another price', {}, 'gpt-4o-2024-05-13', [5, 'default']],
    ['of the latest version', {}, 'mistral-small-latest', [0.15, 'default']],
    ['of a smaller variant', {}, 'gpt-4o-mini', [0.15, 'default']],
    ['that nothing gives', {}, 'my-model', null],
    [
      'of exactly this date',
      { prices: { 'gpt-4o': { input: 7, output: 8 }, 'gpt-4o-2024-08-06': { input: 9, output: 9 } } },
      'gpt-4o-2024-08-06',
      [9, 'manifest'],
    ],
    [
      'from usdPerMillionTokens',
      { costControls: { usdPerMillionTokens: { input: 4, output: 5 } } },
      'gpt-4o',
      [4, 'manifest'],
    ],
    [
      'from usdPerMillionTokens only for the declared model',
      { costControls: { usdPerMillionTokens: { input: 4, output: 5 } } },
      'gpt-5',
      [1.25, 'default'],
    ],
    [
      'from usdPerMillionTokens not without both prices',
      { costControls: { usdPerMillionTokens: { input: 4 } } },
      'gpt-4o',
      [2.5, 'default'],
    ],
    [
      'from prices before usdPerMillionTokens',
      {
        prices: { 'gpt-4o': { input: 7, output: 8 } },
        costControls: { usdPerMillionTokens: { input: 4, output: 5 } },
      },
      'gpt-4o',
      [7, 'manifest'],
    ],
    ['of a key of the prototype', {}, 'constructor', null],
  ])('%s', (_what, declared, id, wanted) => {
    const found = priceOf(aManifest(model(declared)), id);
    const source = found?.date === DEFAULT_PRICES_DATE ? 'default' : 'manifest';
    expect(found && [found.price.input, source]).toEqual(wanted);
  });

  test('from the default table has the day of that table', () => {
    expect(DEFAULT_PRICES_DATE).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(priceOf(aManifest(model()), 'gpt-4o')?.date).toBe(DEFAULT_PRICES_DATE);
    expect(priceOf(aManifest(model({ prices: { x: { input: 1, output: 1 } } })), 'x')?.date).toBeNull();
  });

  test('from the default table is lower for cached input and not lower for written input', () => {
    for (const { input, cachedInput = 0, cacheWrite = input } of DEFAULT_PRICES.values()) {
      expect(cachedInput).toBeLessThan(input);
      expect(cacheWrite).toBeGreaterThanOrEqual(input);
    }
  });
});

describe('the cost of a call', () => {
  const usage = {
    promptTokens: 1_000_000,
    cachedTokens: 400_000,
    cacheWriteTokens: 100_000,
    completionTokens: 200_000,
  };

  test.each([
    [
      'with prices of the cache',
      { input: 2, output: 10, cachedInput: 0.5, cacheWrite: 3 },
      1 + 0.2 + 0.3 + 2,
    ],
    ['without prices of the cache', { input: 2, output: 10 }, 2 + 2],
    ['of a free model', { input: 0, output: 0 }, 0],
  ])('%s', (_what, price, cost) => {
    expect(costOf(usage, price)).toBeCloseTo(cost, 10);
  });

  test('is not negative if a vendor counts cached tokens apart', () => {
    expect(
      costOf(
        { promptTokens: 10, cachedTokens: 50, cacheWriteTokens: 0, completionTokens: 0 },
        { input: 2, output: 1 },
      ),
    ).toBeCloseTo(100 / 1e6, 12);
  });
});

describe('the cost of a usage report', () => {
  const manifest = aManifest(model({ prices: { a: { input: 2, output: 10 }, b: { input: 1, output: 1 } } }));
  const used = (modelId: string, totalTokens = 1_500_000) => ({
    ...{ modelId, promptTokens: 1_000_000, completionTokens: 400_000, totalTokens, callCount: 1 },
  });

  test.each<[string, ReturnType<typeof used>[], number | null]>([
    ['has all models, and completion tokens that only the total has', [used('a'), used('b')], 7 + 1.5],
    ['does not have models without a price', [used('a'), used('unknown-model')], 7],
    ['is not known if no price is', [used('unknown-model')], null],
    ['is not known without calls', [], null],
  ])('%s', (_what, models, cost) => {
    expect(costOfModels(manifest, models)).toBe(cost);
  });
});
