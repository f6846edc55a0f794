import { expect, test } from '@jest/globals';
import { usedToday, withUse } from './tokens.ts';

test('tokens of very many processes with impossible counts stay an integer that the API server accepts', () => {
  const at = new Date('2026-03-01T12:00:00Z');
  const uses = Array.from({ length: 1_100 }, () => ({ tokens: Number.MAX_SAFE_INTEGER, costUsd: 1 }));
  const status = withUse({ phase: 'Healthy' }, uses, at);
  expect(usedToday(withUse(status, uses, at), at).tokens).toBe(Number.MAX_SAFE_INTEGER);
  expect(status.departedToday?.tokens).toBe(Number.MAX_SAFE_INTEGER);
});
