import { describe, expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import { CHUNKING, CODINGS, LENGTHS, LINES } from '../../testing/http/framing-attacks.ts';
import { piecesOf } from '../../testing/http/generated-responses.ts';
import { readWithOwnClient, type ReadResponse } from '../../testing/http/response-parsers.ts';
import { SEED } from '../../testing/random/seed.ts';
import { ResponseReader } from './response-reader.ts';

/** Reads the bytes at once, byte by byte and in random pieces. The result is the same. */
function read(wire: string, method = 'GET'): ReadResponse {
  const whole = readWithOwnClient(method, [Buffer.from(wire, 'latin1')]);
  const dice = diceOf(SEED);
  for (const isByteByByte of [true, false, false])
    expect({ ...readWithOwnClient(method, piecesOf(dice, wire, isByteByByte)), error: '' }).toEqual({
      ...whole,
      error: '',
    });
  return whole;
}

const ok = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines].join('\r\n') + '\r\n\r\n';
const TE = 'Transfer-Encoding: chunked';

describe('a valid response:', () => {
  test.each<[string, string, Partial<ReadResponse>]>([
    ['a body with a length', `${ok('Content-Length: 5')}hello`, { body: 'hello', persists: true }],
    ['no body', ok('Content-Length: 0'), { body: '', persists: true }],
    ['a length with zeros', `${ok('Content-Length: 005')}hello`, { body: 'hello', persists: true }],
    ['chunks', `${ok(TE)}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`, { body: 'hello', persists: true }],
    ['extensions', `${ok(TE)}5;a;b=c;d="e \\"f"\r\nhello\r\n0;g\r\n\r\n`, { body: 'hello' }],
    ['trailers', `${ok(TE)}0\r\nX-Sum: 1\r\nx-sum:2\r\n\r\n`, { trailers: ['X-Sum', '1', 'x-sum', '2'] }],
    ['a body up to the end', `${ok()}hello`, { body: 'hello', persists: false }],
    ['Connection: close', `${ok('Content-Length: 5', 'Connection: x, Close')}hello`, { persists: false }],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', { body: 'ok', persists: false }],
    [
      'HTTP/1.0 that keeps its connection',
      'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
      { body: 'ok', persists: true },
    ],
    [
      'chunks in HTTP/1.0',
      'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      { body: 'ok', persists: false },
    ],
    ['a body after 204', 'HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\nhello', { body: '', persists: false }],
    ['no body after 304', 'HTTP/1.1 304 X\r\nContent-Length: 0\r\n\r\n', { body: '', persists: true }],
    [
      'early hints',
      `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok('Content-Length: 0')}`,
      { information: [[103, ['Link', '</a>']]], isComplete: true },
    ],
    [
      'names and values as sent',
      ok('X-A: 1', 'x-a:\t\xe4\xff \t', "!#$%&'*+-.^_`|~:", 'Content-Length: 0'),
      {
        head: {
          ...{ status: 200, message: 'OK' },
          fields: ['X-A', '1', 'x-a', '\xe4\xff', "!#$%&'*+-.^_`|~", '', 'Content-Length', '0'],
        },
      },
    ],
    [
      'a reason phrase with any byte',
      'HTTP/1.1 200 \xe4\0 ok\r\nContent-Length: 0\r\n\r\n',
      { head: { status: 200, message: '\xe4\0 ok', fields: ['Content-Length', '0'] } },
    ],
    ['no reason phrase', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', { isComplete: true }],
    [
      '2,500 lines',
      ok(...Array.from({ length: 2_500 }, () => 'a:b'), 'Content-Length: 0'),
      { isComplete: true },
    ],
  ])('%s', (_title, wire, expected) => {
    expect(read(wire)).toMatchObject({ isComplete: true, ...expected });
  });

  test('a response to HEAD has no body', () => {
    expect(read(ok('Content-Length: 5'), 'HEAD')).toMatchObject({
      isComplete: true,
      body: '',
      persists: true,
    });
    // Not every server sends the end of a body that it cannot measure.
    expect(read(ok(), 'HEAD')).toMatchObject({ isComplete: true, body: '', persists: false });
  });
});

describe('limits:', () => {
  const line = (bytes: number): string => `X: ${'x'.repeat(bytes - 1)}`;
  test.each<[string, string, boolean]>([
    ['a head below 16 KiB of names and values', ok(line(16_363), 'Content-Length: 0'), true],
    ['a head of 16 KiB of names and values', ok(line(16_384), 'Content-Length: 0'), false],
    [
      'many short lines of 16 KiB',
      ok(...Array.from({ length: 8_192 }, () => 'a:b'), 'Content-Length: 0'),
      false,
    ],
    ['a line without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(17_000)}`, false],
    ['a reason phrase of 16 KiB', `HTTP/1.1 200 ${'x'.repeat(16_384)}\r\n\r\n`, false],
    ['trailers of 16 KiB', `${ok(TE)}0\r\n${line(16_384)}\r\n\r\n`, false],
    ['an extension of 16 KiB', `${ok(TE)}1;${'x'.repeat(16_384)}\r\na\r\n0\r\n\r\n`, false],
    ['a size with 16 KiB of zeros', `${ok(TE)}${'0'.repeat(16_385)}1\r\na\r\n0\r\n\r\n`, false],
    ['a chunk above what a number holds', `${ok(TE)}${'f'.repeat(14)}\r\n`, false],
    ['a length above what a number holds', ok('Content-Length: 9007199254740993'), false],
  ])('%s', (_title, wire, isComplete) => {
    expect(read(wire)).toMatchObject({ isComplete });
  });
});

// Other parsers see a coding that they do not know, and read until the end of the connection.
test.each(['chunked\t', 'chunked \t', 'chunked\t ', 'chunked\t  \t '])(
  'a coding with a tab behind it is refused: %j',
  (coding) => {
    const result = read(`${ok(`Transfer-Encoding: ${coding}`)}2\r\nok\r\n0\r\n\r\n`);
    expect(result).toMatchObject({ body: '', isComplete: false, persists: false });
  },
);

test('bytes after a response are not read', () => {
  const reader = new ResponseReader();
  const ignore = (): void => undefined;
  const sink = { onInformation: ignore, onHead: ignore, onData: ignore, onEnd: ignore };
  for (const response of [
    ok('Content-Length: 2') + 'ok',
    `${ok(TE)}2\r\nok\r\n0\r\n\r\n`,
    ok('Content-Length: 0'),
  ]) {
    reader.expect(sink, 'GET');
    const bytes = Buffer.from(`${response}HTTP/1.1 200 OK\r\n`, 'latin1');
    expect(reader.read(bytes, bytes.length)).toBe(response.length);
    expect(reader.isOver).toBe(true);
    expect(reader.read(bytes, bytes.length)).toBe(0);
  }
});

test('the data of one read arrives in one piece, and data before invalid bytes arrives', () => {
  const pieces: string[] = [];
  const reader = new ResponseReader();
  const sink = {
    onInformation: () => undefined,
    onHead: () => undefined,
    onData: (chunk: Buffer) => void pieces.push(chunk.toString()),
    onEnd: () => undefined,
  };
  reader.expect(sink, 'GET');
  const bytes = Buffer.from(`${ok(TE)}2\r\nhe\r\n3;a\r\nllo\r\n1\r\n!\r\nzz`);
  expect(() => reader.read(bytes, bytes.length)).toThrow('a chunk has no size');
  expect(pieces).toEqual(['hello!']);
});

/** The request that an attacker hides, and a response of the same length. */
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: hidden.example\r\nConnection: close\r\n\r\n';
const POISON = ok('Content-Length: 6', `X: ${'x'.repeat(HIDDEN.length - 49)}`) + 'poison';

/** The attack of a client as a hostile agent sends it: the same header lines and the same body, in a response. */
function inResponse(text: string): string {
  return text
    .replace(/^(?:GET|POST) \/first /, '')
    .replace(/^HTTP\/(\d\.\d)/, 'HTTP/$1 200 OK')
    .replaceAll(HIDDEN, POISON);
}

/** Attacks of clients that are valid responses. A response without a length ends with its connection, so nothing follows it. */
const VALID_RESPONSES: ReadonlySet<string> = new Set([
  'chunks in HTTP/1.0',
  'a coding as a trailer',
  '257 headers',
  '500 headers',
]);

describe.each([
  ['transfer codings', CODINGS],
  ['lengths', LENGTHS],
  ['lines and headers', LINES],
  ['chunks', CHUNKING],
])('a hostile agent with the attacks of clients, %s:', (_group, attacks) => {
  const rows = attacks
    .filter(({ bytes }) => /^(?:GET|POST) \/first HTTP/.test(bytes))
    .map((attack) => [attack.title, attack] as const);
  test.each(rows)('%s', (title, { bytes, readings }) => {
    const result = read(inResponse(bytes));
    const [reading] = readings;
    if (reading === undefined && !VALID_RESPONSES.has(title)) {
      expect(result).toMatchObject({ isComplete: false, persists: false });
      expect(result.body).not.toContain('poison');
    } else if (/^(?:content-length|transfer-encoding):/im.test(bytes)) {
      expect(result).toMatchObject({ isComplete: true, body: inResponse(reading?.body ?? bodyOf(title)) });
    } else {
      expect(result).toMatchObject({ isComplete: true, body: POISON, persists: false });
    }
  });
});

const bodyOf = (title: string): string => (title === 'a coding as a trailer' ? '' : 'hello');
