import { describe, expect, test } from '@jest/globals';
import { NOON } from '../../testing/fleet/facts.ts';
import { DailyBudget } from './daily-budget.ts';

const LATER = new Date('2026-03-01T23:59:59.999Z');
const MIDNIGHT = new Date('2026-03-02T00:00:00.000Z');
const budgetOf = (change: object = {}): DailyBudget =>
  new DailyBudget({
    tokensPerDay: 1_000,
    usdPerDay: 1,
    usdPerMillionTokens: { input: 0, output: 0 },
    ...change,
  });
const MOST = { input: 300, output: 200 };

test('a reservation counts until the request has ended, then what it used counts', () => {
  const budget = budgetOf({ usdPerMillionTokens: { input: 1_000, output: 2_000 } });
  expect(budget.reserve(MOST, NOON)).toBeNull();
  expect(budget.today(NOON)).toEqual({ ...MOST, usd: 0.7 });
  budget.settle(MOST, { input: 100, output: 50 }, NOON);
  expect(budget.today(LATER)).toEqual({ input: 100, output: 50, usd: 0.2 });
});

describe('a request that could exceed a limit is refused', () => {
  test('of tokens', () => {
    const budget = budgetOf();
    expect([budget.reserve(MOST, NOON), budget.reserve(MOST, NOON)]).toEqual([null, null]);
    expect(budget.reserve({ input: 1, output: 0 }, NOON)).toBe(
      "today's limit leaves 0 of 1000 tokens, and the next request can use 1",
    );
    expect(budget.today(NOON)).toEqual({ input: 600, output: 400, usd: 0 });
  });

  test('of money', () => {
    const budget = budgetOf({ usdPerDay: 0.5, usdPerMillionTokens: { input: 500, output: 1_000 } });
    expect(budget.reserve(MOST, NOON)).toBeNull();
    expect(budget.reserve(MOST, NOON)).toBe(
      "today's limit leaves $0.1500 of $0.5000, and the next request can cost $0.3500",
    );
  });
});

test('a request may use exactly what is left', () => {
  const exact = budgetOf({
    tokensPerDay: 500,
    usdPerDay: 0.5,
    usdPerMillionTokens: { input: 1_000, output: 1_000 },
  });
  expect(exact.reserve(MOST, NOON)).toBeNull();
});

test('each UTC day starts at zero', () => {
  const budget = budgetOf({ tokensPerDay: 500 });
  expect(budget.reserve(MOST, LATER)).toBeNull();
  expect(budget.reserve(MOST, LATER)).not.toBeNull();
  expect(budget.today(MIDNIGHT)).toEqual({ input: 0, output: 0, usd: 0 });
  expect(budget.reserve(MOST, MIDNIGHT)).toBeNull();
});

test('a request over midnight counts for the day on which it was sent', () => {
  const budget = budgetOf();
  budget.reserve(MOST, LATER);
  budget.reserve(MOST, MIDNIGHT);
  budget.settle(MOST, { input: 900, output: 900 }, LATER);
  expect(budget.today(MIDNIGHT)).toEqual({ ...MOST, usd: 0 });
});
