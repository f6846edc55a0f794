import { declaredModelName } from '../facts/sightings.ts';
import type { ModelPrice } from '../manifest/manifest.ts';

/**
 * Day of the prices, YYYY-MM-DD: that of the release 1.106.2 of litellm, whose list of prices per token has every price of this
 * table. They were not compared with the pages of the vendors.
 */
export const DEFAULT_PRICES_DATE = '2026-10-21';

type Prices = readonly [input: number, output: number, cachedInput?: number, cacheWrite?: number];

/**
 * List prices in US dollars per million tokens by model id without a date: without discounts, and without the higher prices that
 * some vendors have for long prompts. Models with open weights are not listed, because their price depends on the host.
 */
const PRICES: Readonly<Record<string, Prices>> = {
  'gpt-6.1-sol': [2, 10, 0.1, 2.5],
  'gpt-6-sol': [2, 10, 0.2, 2.5],
  'gpt-6-luna': [0.1, 0.5, 0.01, 0.125],
  'gpt-6-astra': [10, 50, 1, 12.5],
  'gpt-5.6': [4, 20, 0.4, 5],
  'gpt-5.6-sol': [4, 20, 0.4, 5],
  'gpt-5.6-terra': [2, 12, 0.2, 2.5],
  'gpt-5.6-luna': [0.2, 1.2, 0.02, 0.25],
  'gpt-5.5': [5, 30, 0.5],
  'gpt-5.5-pro': [30, 180],
  'gpt-5.4': [2.5, 15, 0.25],
  'gpt-5.4-mini': [0.75, 4.5, 0.075],
  'gpt-5.4-nano': [0.2, 1.25, 0.02],
  'gpt-5.4-pro': [30, 180],
  'gpt-5.3-codex': [1.75, 14, 0.175],
  'gpt-5.2': [1.75, 14, 0.175],
  'gpt-5.2-pro': [21, 168],
  'gpt-5.1': [1.25, 10, 0.125],
  'gpt-5': [1.25, 10, 0.125],
  'gpt-5-mini': [0.25, 2, 0.025],
  'gpt-5-nano': [0.05, 0.4, 0.005],
  'gpt-5-pro': [15, 120],
  'gpt-4.1': [2, 8, 0.5],
  'gpt-4.1-mini': [0.4, 1.6, 0.1],
  'gpt-4.1-nano': [0.1, 0.4, 0.025],
  'gpt-4o': [2.5, 10, 1.25],
  'gpt-4o-2024-05-13': [5, 15],
  'gpt-4o-mini': [0.15, 0.6, 0.075],
  o1: [15, 60, 7.5],
  o3: [2, 8, 0.5],
  'o3-mini': [1.1, 4.4, 0.55],
  'o3-pro': [20, 80],
  'o4-mini': [1.1, 4.4, 0.275],
  'text-embedding-3-small': [0.02, 0],
  'text-embedding-3-large': [0.13, 0],
  'claude-fable-5': [10, 50, 1, 12.5],
  'claude-fable-5-1': [10, 50, 0.25, 12.5],
  'claude-mythos-5': [10, 50, 1, 12.5],
  'claude-mythos-5-1': [10, 50, 0.25, 12.5],
  'claude-opus-5-5': [4, 20, 0.2, 5],
  'claude-opus-5': [5, 25, 0.5, 6.25],
  'claude-opus-4-8': [5, 25, 0.5, 6.25],
  'claude-opus-4-7': [5, 25, 0.5, 6.25],
  'claude-opus-4-6': [5, 25, 0.5, 6.25],
  'claude-opus-4-5': [5, 25, 0.5, 6.25],
  'claude-sonnet-5-5': [2, 10, 0.1, 2.5],
  'claude-sonnet-5': [2, 10, 0.2, 2.5],
  'claude-sonnet-4-6': [3, 15, 0.3, 3.75],
  'claude-sonnet-4-5': [3, 15, 0.3, 3.75],
  'claude-haiku-5-5': [0.1, 0.5, 0.01, 0.125],
  'claude-haiku-4-5': [1, 5, 0.1, 1.25],
  'gemini-4-argon': [2, 10, 0.1],
  'gemini-3.8-flash': [0.75, 3.75, 0.075],
  'gemini-3.7-flash': [0.75, 3.75, 0.075],
  'gemini-3.6-flash': [0.75, 3.75, 0.075],
  'gemini-3.5-flash': [1.5, 9, 0.15],
  'gemini-3.5-flash-lite': [0.3, 2.5, 0.03],
  'gemini-3.1-pro-preview': [2, 12, 0.2],
  'gemini-3.1-flash-lite': [0.25, 1.5, 0.025],
  'gemini-3-flash-preview': [0.5, 3, 0.05],
  'gemini-2.5-pro': [1.25, 10, 0.125],
  'gemini-2.5-flash': [0.3, 2.5, 0.03],
  'gemini-2.5-flash-lite': [0.1, 0.4, 0.01],
  'gemini-embedding-001': [0.15, 0],
  'gemini-embedding-2': [0.2, 0],
  'mistral-large-4': [0.68, 2.09, 0.068],
  'mistral-large': [0.5, 1.5, 0.05],
  'mistral-medium': [1.5, 7.5, 0.15],
  'mistral-small': [0.15, 0.6, 0.015],
  'ministral-14b': [0.2, 0.2, 0.02],
  'ministral-8b': [0.15, 0.15, 0.015],
  'ministral-3b': [0.1, 0.1, 0.01],
  'magistral-medium': [1.5, 7.5, 0.15],
  'magistral-small': [0.15, 0.6, 0.015],
  'devstral-medium': [0.4, 2, 0.04],
  'devstral-small': [0.1, 0.3, 0.01],
  codestral: [0.3, 0.9, 0.03],
  'mistral-embed': [0.1, 0],
  'command-a': [2.5, 10],
  'command-r-plus': [2.5, 10],
  'command-r': [0.15, 0.6],
  'command-r7b': [0.0375, 0.15],
  'embed-v4.0': [0.12, 0],
};

/** The prices by the name under which a declared model id is looked up. */
export const DEFAULT_PRICES: ReadonlyMap<string, ModelPrice> = new Map(
  Object.entries(PRICES).map(([id, [input, output, cachedInput, cacheWrite]]) => [
    declaredModelName(id),
    {
      ...{ input, output },
      ...(cachedInput !== undefined && { cachedInput }),
      ...(cacheWrite !== undefined && { cacheWrite }),
    },
  ]),
);
