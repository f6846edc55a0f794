import { describe, expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import { SEED } from '../../testing/random/seed.ts';
import { MAX_STRING_BYTES, ShortJson } from './short-json.ts';

const KIB = 1024;
const long = (letter: string, bytes = 2 * MAX_STRING_BYTES): string => letter.repeat(bytes / letter.length);

function shortOf(text: string, size = Infinity, maxBytes = 512 * KIB): ShortJson {
  const raw = Buffer.from(text);
  const short = new ShortJson(maxBytes);
  for (let at = 0; at < raw.length; at += size) short.add(raw.subarray(at, at + size));
  return short;
}

const parsed = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

test('a document without long strings stays as it is', () => {
  const text = JSON.stringify({ a: ['"', '\\', '\n', { b: 1 }], c: 'x'.repeat(MAX_STRING_BYTES) });
  expect(shortOf(text).bytes.toString()).toBe(text);
});

describe.each([
  ['letters', long('x')],
  ['a picture', Buffer.alloc(MAX_STRING_BYTES, 7).toString('base64')],
  ['characters of several bytes', long('😀é“')],
  ['escapes', long('\\n"\u0001')],
  ['line feeds only', long('\n')],
  ['quotes and backslashes', long('\\"')],
])('a document with a long string of %s', (_name, value) => {
  const document = { name: 'a', value, list: [value, { more: value }], end: 'usage' };
  /** With every character above 7 bits as an escape, too, as many servers write it. */
  const texts = [
    JSON.stringify(document),
    JSON.stringify(document, null, 2),
    JSON.stringify(document).replaceAll(
      /[\u0080-\uffff]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  ];

  test.each([...texts.entries()])('has the same structure and can be restored, in form %d', (_form, text) => {
    for (const size of [7, 1_000, 65_536]) {
      const short = shortOf(text, size);
      expect(short.bytes.length).toBeLessThan(4 * MAX_STRING_BYTES);
      expect(parsed(short.bytes)).toMatchObject({ name: 'a', list: [expect.any(String), {}], end: 'usage' });
      expect(short.restore(short.bytes.toString(), Buffer.from(text)).equals(Buffer.from(text))).toBe(true);
      const rewritten = JSON.stringify(parsed(short.bytes));
      expect(parsed(short.restore(rewritten, Buffer.from(text)))).toEqual(document);
    }
  });
});

test('a part ends with the last long string, and its prefix is a document', () => {
  const short = new ShortJson(512 * KIB);
  const begin = '{"output":[{"name":"a"},{"result":"';
  short.add(Buffer.from(begin));
  expect(short.part()).toBeNull();
  short.add(Buffer.from(long('x')));
  const first = short.part();
  expect(first?.bytes).toBe(begin.length + 2 * MAX_STRING_BYTES);
  expect(parsed(first!.prefix!)).toEqual({ output: [{ name: 'a' }, { result: expect.any(String) }] });
  short.add(Buffer.from(long('x')));
  expect(short.part()).toEqual({ bytes: 2 * MAX_STRING_BYTES, prefix: null });
  short.add(Buffer.from('x"},{"name":"b"'));
  expect(short.part()).toEqual({ bytes: 1, prefix: null });
  expect(short.part()).toBeNull();
  short.add(Buffer.from(`,"z":"${long('y')}"`));
  const { bytes, prefix } = short.part()!;
  expect(bytes).toBe(`"},{"name":"b","z":"${long('y')}`.length);
  expect(parsed(prefix!)).toMatchObject({ output: [{}, {}, { name: 'b' }] });
});

test('a quote in a comment of an event does not hide the rest', () => {
  const short = shortOf(`: it"s\nevent: a"b\ndata: {"a":"${long('x')}"}\n\n`);
  expect(short.bytes.toString()).toMatch(/^: it"s\nevent: a"b\ndata: \{"a":"x+~[0-9a-f-]+~0~"\}\n\n$/);
});

test('a document with too much in addition to long strings is too long, and is not kept', () => {
  const short = shortOf(
    JSON.stringify(Array.from({ length: 100_000 }, (_, index) => index)),
    1_000,
    64 * KIB,
  );
  expect(short.isTooLong).toBe(true);
  expect(short.bytes.length).toBe(0);
  expect(short.part()).toBeNull();
});

test('random documents are restored, however they arrive', () => {
  const dice = diceOf(SEED);
  const pieces = ['"', '\\', '\n', 'é', '😀', '{', ']', 'abc', '~0~', '\u2028', 'x'.repeat(5_000)];
  const any = (depth: number): unknown => {
    const kind = dice();
    if (kind < 0.3 && depth > 0) return Array.from({ length: Math.floor(dice() * 4) }, () => any(depth - 1));
    if (kind < 0.6 && depth > 0) return { a: any(depth - 1), [`k${Math.floor(dice() * 8)}`]: any(depth - 1) };
    if (kind < 0.7) return dice() * 1e6;
    return Array.from(
      { length: Math.floor(dice() * 60) },
      () => pieces[Math.floor(dice() * pieces.length)],
    ).join('');
  };
  for (let round = 0; round < 40; round += 1) {
    const document = any(4);
    const text = JSON.stringify(document);
    const short = shortOf(text, 1 + Math.floor(dice() * 20_000), 64 * KIB * KIB);
    expect(short.restore(short.bytes.toString(), Buffer.from(text)).equals(Buffer.from(text))).toBe(true);
    expect(parsed(short.restore(JSON.stringify(parsed(short.bytes)), Buffer.from(text)))).toEqual(document);
  }
});
