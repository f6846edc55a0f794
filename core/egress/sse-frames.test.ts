import { describe, expect, test } from '@jest/globals';
import { StreamReader } from '../usage/sse-data.ts';
import { SSE } from '../usage/sse-format.ts';
import type { Frame } from './model-wire.ts';
import { createLineFrames, createSseFrames, frameLike, type FrameSplitter } from './sse-frames.ts';
import { MAX_STRING_BYTES } from './short-json.ts';

function framesOf(splitter: FrameSplitter, ...chunks: readonly (string | Buffer)[]): Frame[] {
  return [...chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk))), ...splitter.end()];
}
const joined = (frames: readonly Frame[]): string =>
  Buffer.concat(frames.map(({ raw }) => raw)).toString('latin1');
const read = (frames: readonly Frame[]): [string | null, string][] =>
  frames.flatMap(({ event, data }) => (data === null ? [] : [[event, data]]));

const STREAMS: readonly [string, string, [string | null, string][]][] = [
  [
    'line feeds',
    'event: a\ndata: 1\n\ndata: 2\n\n',
    [
      ['a', '1'],
      [null, '2'],
    ],
  ],
  [
    'CRLF',
    'event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n',
    [
      ['a', '1'],
      [null, '2'],
    ],
  ],
  [
    'carriage returns',
    'event: a\rdata: 1\r\rdata: 2\r\r',
    [
      ['a', '1'],
      [null, '2'],
    ],
  ],
  [
    'mixed line ends',
    'data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n',
    [
      [null, '1'],
      [null, '2'],
      [null, '3'],
    ],
  ],
  ['a byte order mark', '\uFEFFdata: 1\n\n\uFEFFdata: 2\n\n', [[null, '1']]],
  ['comments', ': keep-alive\n\n:\ndata: 1\n: inside\ndata: 2\n\n', [[null, '1\n2']]],
  ['data of several lines', 'data: {\ndata:  "a": 1\ndata\ndata:}\n\n', [[null, '{\n "a": 1\n\n}']]],
  ['other fields', 'id: 1\nretry: 5\nevent: a\nevent:\ndata:x\ndatax: y\n\n', [[null, 'x']]],
  [
    'a last event without a blank line',
    'data: 1\n\ndata: 2',
    [
      [null, '1'],
      [null, '2'],
    ],
  ],
  ['blank lines only', '\n\n\r\n\r\r\n', []],
  ['text of several bytes', 'data: “42” 😀\n\n', [[null, '“42” 😀']]],
];

describe('a stream of server-sent events', () => {
  test.each(STREAMS)('with %s is read', (_name, text, expected) => {
    const frames = framesOf(createSseFrames(), text);
    expect(read(frames)).toEqual(expected);
    expect(joined(frames)).toBe(Buffer.from(text).toString('latin1'));
  });

  test.each(STREAMS)(
    'with %s is read in the same way when it is cut at any byte',
    (_name, text, expected) => {
      const bytes = Buffer.from(text);
      const single = framesOf(createSseFrames(), ...[...bytes].map((byte) => Buffer.of(byte)));
      expect([read(single), joined(single)]).toEqual([expected, bytes.toString('latin1')]);
      for (let cut = 0; cut <= bytes.length; cut += 1) {
        const frames = framesOf(createSseFrames(), bytes.subarray(0, cut), bytes.subarray(cut));
        expect([cut, read(frames), joined(frames)]).toEqual([cut, expected, bytes.toString('latin1')]);
      }
    },
  );

  test.each(STREAMS)('with %s has the same events as text', (_name, text, expected) => {
    const events: [string | null, string][] = [];
    const reader = new StreamReader(SSE, { onData: (data, event) => events.push([event, data]) }, 1000);
    reader.write(text.replace(/^\uFEFF/, ''));
    reader.end();
    expect(events).toEqual(expected);
  });

  test('is returned without delay: each chunk with the end of an event, and each comment', () => {
    const splitter = createSseFrames();
    const sent = (chunk: string): string => joined(splitter.push(Buffer.from(chunk)));
    expect(sent('data: 1\r\n\r')).toBe('data: 1\r\n\r');
    expect(sent('\n')).toBe('\n');
    expect(sent(': ping\n')).toBe(': ping\n');
    expect(sent('data: 2\n')).toBe('');
    expect(sent('\n')).toBe('data: 2\n\n');
  });

  const picture = 'x'.repeat(3 * MAX_STRING_BYTES);
  const large = `event: a\r\ndata: {"a":1,"b":"${picture}","c":["${picture}",{"d":2}]}\r\n\r\n`;
  const short = { a: 1, b: expect.any(String), c: [expect.any(String), { d: 2 }] };

  test.each([100, 5_000, 20_000, 1_000_000])(
    'keeps an event above the limit, and its data without the long strings (in pieces of %d)',
    (size) => {
      const splitter = createSseFrames(4 * MAX_STRING_BYTES);
      const text = `data: 1\n\n${large}data: 2\n\n`;
      const frames = framesOf(splitter, ...(text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []));
      expect(frames.map(({ event, part }) => [event, part])).toEqual([
        [null, undefined],
        ['a', undefined],
        [null, undefined],
      ]);
      const [, frame] = frames;
      expect(JSON.parse(frame!.data!)).toEqual(short);
      expect(frame!.data!.length).toBeLessThan(3 * MAX_STRING_BYTES);
      expect(joined(frames)).toBe(text);
      expect(frameLike(frame!, frame!.data!, 'a').raw.toString()).toBe(large);
    },
  );

  test.each([100, 5_000, 20_000, 1_000_000])(
    'passes the parts of an event without room, with the data up to there (in pieces of %d)',
    (size) => {
      const splitter = createSseFrames(4 * MAX_STRING_BYTES);
      const frames: Frame[] = [];
      for (const piece of large.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []) {
        frames.push(...splitter.push(Buffer.from(piece)));
        if (splitter.heldBytes > 2 * MAX_STRING_BYTES) frames.push(...splitter.part());
      }
      frames.push(...splitter.end());
      expect(joined(frames)).toBe(large);
      const begins = frames
        .filter(({ part }) => part === 'begin')
        .map(({ data }) => JSON.parse(data!) as unknown);
      const [b, c] = [short.b, [short.b]];
      expect(begins).toEqual(
        size > large.length
          ? []
          : [
              { a: 1, b },
              { a: 1, b, c },
            ].slice(-begins.length),
      );
      const last = frames.at(-1);
      expect(JSON.parse(last!.data!)).toEqual(short);
      if (begins.length > 0) expect([last!.part, last!.short]).toEqual(['end', undefined]);
    },
  );

  test('passes an event above the limit unread, in the pieces in which it arrives', () => {
    const splitter = createSseFrames(20);
    expect(splitter.push(Buffer.from(`data: ${'x'.repeat(10)}`))).toEqual([]);
    const [first, ...others] = splitter.push(Buffer.from('y'.repeat(10)));
    expect([others, first?.data, first?.raw.length]).toEqual([[], null, 26]);
    const rest = splitter.push(Buffer.from('z\n\ndata: 1\n\n'));
    expect(rest.map(({ raw, data }) => [raw.toString(), data])).toEqual([
      ['z\n\n', null],
      ['data: 1\n\n', '1'],
    ]);
  });

  test('passes bytes that are not UTF-8', () => {
    const bytes = Buffer.from('data: \xff\xfe\n\n', 'latin1');
    expect(joined(framesOf(createSseFrames(), bytes))).toBe(bytes.toString('latin1'));
  });
});

describe('a stream of lines', () => {
  test.each<[string, string, string[]]>([
    ['line feeds', '{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
    ['CRLF and blank lines', '{"a":1}\r\n\r\n\n{"b":2}\r\n', ['{"a":1}', '{"b":2}']],
    ['a last line without a line end', '{"a":1}\n{"b":2}', ['{"a":1}', '{"b":2}']],
  ])('with %s is read, also when it is cut at any byte', (_name, text, expected) => {
    for (let cut = 0; cut <= text.length; cut += 1) {
      const frames = framesOf(createLineFrames(), text.slice(0, cut), text.slice(cut));
      expect([read(frames).map(([, data]) => data), joined(frames)]).toEqual([expected, text]);
    }
  });
});

describe('a changed frame', () => {
  test.each([
    ['an event', 'data: 1\n\n', 'data: {}\n\n'],
    ['an event with CRLF', 'event: a\r\ndata: 1\r\n\r\n', 'event: b\r\ndata: {}\r\n\r\n'],
    ['an event with carriage returns', 'data: 1\r\r', 'data: {}\r\r'],
    ['a last event', 'data: 1', 'data: {}\n\n'],
    ['a line', '{"a":1}\n', '{}\n'],
    ['a line with CRLF', ' {"a":1}\r\n', '{}\r\n'],
  ])('has the form of %s', (_name, raw, expected) => {
    const frame = { raw: Buffer.from(raw), event: null, data: '1' };
    expect(frameLike(frame, '{}', raw.startsWith('event') ? 'b' : null).raw.toString()).toBe(expected);
  });
});
