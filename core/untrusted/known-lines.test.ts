import { beforeEach, describe, expect, test } from '@jest/globals';
import { KnownLines, type HeaderLine } from './known-lines.ts';

const LINE = 'Host: a\r\n';
const HOST = { name: 'Host', value: 'a', length: LINE.length };
let lines: KnownLines<HeaderLine>;

beforeEach(() => {
  lines = new KnownLines();
  lines.keep(1, LINE, HOST);
});

describe('a line is known', () => {
  test('in any message, at the same position', () => {
    expect(lines.find(1, `X: 1\r\n${LINE}\r\n`, 6)).toBe(HOST);
  });

  test('until another line was at its position', () => {
    const other = { name: 'Host', value: 'b', length: 9 };
    lines.keep(1, 'Host: b\r\n', other);
    expect([lines.find(1, LINE, 0), lines.find(1, 'Host: b\r\n', 0)]).toEqual([undefined, other]);
  });
});

describe('a line is not known', () => {
  test.each([
    ['at another position', 0, LINE],
    ['at a later position', 2, LINE],
    ['with another value', 1, 'Host: b\r\n'],
    ['with a longer value', 1, 'Host: ab\r\n'],
    ['in other case', 1, 'host: a\r\n'],
    ['with blanks', 1, 'Host: a \r\n'],
    ['before its line break has arrived', 1, 'Host: a\r'],
    ['with a bare line feed', 1, 'Host: a\n\r\n'],
  ])('%s', (_title, position, text) => {
    expect(lines.find(position, text, 0)).toBeUndefined();
  });

  test.each([
    ['that is too long', 0, 257],
    ['of a message with very many lines', 32, 9],
  ])('%s', (_title, position, length) => {
    const text = 'x'.repeat(length);
    lines.keep(position, text, HOST);
    expect(lines.find(position, text, 0)).toBeUndefined();
  });
});
