import { expect, test } from '@jest/globals';
import { onOneLine } from './on-one-line.ts';

test.each<[string, string, string]>([
  ['with spaces', '  a  b ', 'a  b'],
  ['of several lines', 'a \r\n\n  b\n', 'a; b'],
  ['of empty lines', '\n \n', ''],
  ['with control characters', 'a\u001b[31m\tb\u202ec', 'a [31m b c'],
  ['that is long', 'x'.repeat(3_000), 'x'.repeat(2_048)],
])('a text %s is one line', (_what, text, expected) => {
  expect(onOneLine(text)).toBe(expected);
});

test('a long run of spaces takes no longer than other texts', () => {
  const before = process.cpuUsage();
  expect(onOneLine(`a${' '.repeat(200_000)}b`, Infinity)).toHaveLength(200_002);
  // It takes milliseconds; a time that grows with the square of the length is more than half a minute.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5);
});
