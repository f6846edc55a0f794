import { expect, test } from '@jest/globals';
import { parseQuantity } from './quantity.ts';

test.each([
  ['100m', 0.1],
  ['1', 1],
  ['1.5', 1.5],
  ['.5', 0.5],
  ['2.', 2],
  ['192Mi', 192 * 2 ** 20],
  ['1Gi', 2 ** 30],
  ['1G', 1e9],
  ['1e3', 1000],
  ['12E-1', 1.2],
  ['500k', 500_000],
  ['100n', 100e-9],
])('parses the quantity %s as %d', (text, value) => {
  expect(parseQuantity(text)).toBeCloseTo(value, 12);
});

test.each(['', '-1', '1 Mi', 'lots', '1MiB', '1mi', 'Mi', '.', '1K', '0x10', '1e3Mi', '9'.repeat(16)])(
  'rejects "%s" as a quantity',
  (text) => {
    expect(parseQuantity(text)).toBeNull();
  },
);
