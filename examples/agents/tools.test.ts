import { describe, expect, test } from '@jest/globals';
import { calculate, createTools } from './tools.ts';

describe('the calculator', () => {
  test.each([
    ['2 + 3 * 4', 14],
    ['(2 + 3) * 4', 20],
    ['10 / 4 - 1', 1.5],
    ['-3 - -5', 2],
    ['8 - 3 - 2', 3],
  ])('%s = %d', (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  test.each([
    ['', 'the end is not a number'],
    ['2 +', 'the end is not a number'],
    ['(1', 'a parenthesis is missing'],
    ['1 2', 'unexpected 2'],
    ['process.exit()', 'p is not a number'],
  ])('rejects %j', (expression, message) => {
    expect(() => calculate(expression)).toThrow(new Error(message));
  });
});

test('a later lookup returns the refunded order', () => {
  const tools = new Map(createTools().map((tool) => [tool.name, tool]));
  const look = (): string | undefined => tools.get('lookup_order')?.run({ orderId: 'A-17' });
  expect(look()).toBe('order A-17 is shipped, 42.50 USD');
  expect(tools.get('refund_order')?.run({ orderId: 'A-17' })).toBe('order A-17 is refunded, 42.50 USD');
  expect(look()).toBe('order A-17 is refunded, 42.50 USD');
  expect(tools.get('lookup_order')?.run({ orderId: 'Z-1' })).toBe('there is no order Z-1');
});
