import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { StreamReader } from './sse-data.ts';
import { SSE } from './sse-format.ts';

function dataOf(pieces: readonly string[], maxLength = 1000): string[] {
  const found: string[] = [];
  const events = new StreamReader(SSE, { onData: (data) => found.push(data) }, maxLength);
  for (const piece of pieces) events.write(piece);
  events.end();
  return found;
}

test('each event has its own name, which does not carry over to the next event', () => {
  const found: [string, string | null][] = [];
  const events = new StreamReader(SSE, { onData: (data, event) => found.push([data, event]) }, 1000);
  events.write('event: endpoint\r\ndata: /messages\r\n\r\ndata: a\n\nevent:x\n\ndata: b\n\n');
  expect(found).toEqual([
    ['/messages', 'endpoint'],
    ['a', null],
    ['b', null],
  ]);
});

describe('the data of server-sent events', () => {
  test.each<[string, string, string[]]>([
    ['is read from one line', 'data: a\n\n', ['a']],
    ['is read without a space after the colon', 'data:a\n\n', ['a']],
    ['keeps the second space after the colon', 'data:  a\n\n', [' a']],
    ['is joined from several lines', 'data: a\ndata: b\n\n', ['a\nb']],
    ['does not contain other fields and comments', ': c\nevent: x\nid: 1\ndata: a\nretry: 3\n\n', ['a']],
    ['is empty for events without data', 'event: x\n\n\n\n', []],
    ['is read without the last blank line', 'data: a\n\ndata: b\n', ['a', 'b']],
    ['is read without the last line end', 'data: a\n\ndata: b', ['a', 'b']],
    [
      'is skipped with all its lines if one line is too long',
      `data: ${'x'.repeat(1001)}\ndata: b\n\ndata: c\n\n`,
      ['c'],
    ],
    [
      'is skipped if all its lines together are too long',
      `${'data: xxxxxxxxxx\n'.repeat(100)}data: b\n\ndata: c\n\n`,
      ['c'],
    ],
    ['is read after a comment that is too long', `: ${'x'.repeat(2000)}\ndata: b\n\n`, ['b']],
    [
      'is skipped if a comment in it is too long',
      `data: a\n: ${'x'.repeat(2000)}\ndata: b\n\ndata: c\n\n`,
      ['c'],
    ],
    ['is read after many short comments', `${': keep-alive\n'.repeat(1000)}data: a\n\n`, ['a']],
  ])('%s', (_name, stream, expected) => {
    expect(dataOf([stream])).toEqual(expected);
    expect(dataOf([...stream])).toEqual(expected);
    expect(dataOf([...stream.replaceAll('\n', '\r\n')])).toEqual(expected);
    expect(dataOf([...stream.replaceAll('\n', '\r')])).toEqual(expected);
  });

  test('does not depend on the chunk boundaries', () => {
    const stream = fc
      .array(fc.constantFrom('data: ', 'data:', 'a', 'b', '\n', '\r', '\r\n', ': c', 'x'.repeat(30)))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 5 }), (text, length) => {
        const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
        expect(dataOf(pieces, 50)).toEqual(dataOf([text], 50));
      }),
      { numRuns: 500 },
    );
  });
});
