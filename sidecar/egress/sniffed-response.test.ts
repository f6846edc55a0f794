import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { NO_FACTS, type LaneCall } from './lane-call.ts';
import { SniffedResponse } from './sniffed-response.ts';

const DOCUMENT = '{"model":"gpt-5","choices":[]}';
const TYPE = 'content-type';
const CODING = 'content-encoding';

/** Reads what it can, and lists it. */
function readingCall(): { call: LaneCall; read: string[] } {
  const read: string[] = [];
  const call: LaneCall = {
    facts: { ...NO_FACTS },
    request: (_body, send) => ({ send }),
    unreadRequest: () => null,
    head: ({ format }) => {
      if (format === 'json') return { kind: 'whole', isDecoded: true };
      return format === 'sse'
        ? { kind: 'frames', format, isHeld: false }
        : { kind: 'unread', reason: 'form' };
    },
    whole: ({ text }) => {
      read.push(text);
      return { body: null };
    },
    unreadResponse: () => null,
    frames: (frames) => {
      read.push(...frames.flatMap(({ data }) => data ?? []));
      return { frames };
    },
    end: () => undefined,
  };
  return { call, read };
}

/** Sends a body byte by byte. */
async function pushed(raw: string[], body: Buffer): Promise<{ read: string[]; passed: Buffer }> {
  const { call, read } = readingCall();
  const limits = { maxBytes: 1024 ** 2, keep: () => true, onUnread: () => undefined };
  const response = new SniffedResponse({ status: 200, raw }, call, limits);
  const steps = [];
  for (const byte of body) steps.push(await response.push(Buffer.from([byte])));
  steps.push(await response.end());
  response.close();
  return { read, passed: Buffer.concat(steps.flatMap((step) => ('chunks' in step ? step.chunks : []))) };
}

const plain = (text: string) => (): Buffer => Buffer.from(text);
const BLANKS = '\r\n'.repeat(60);

test.each<[what: string, raw: string[], encode: (text: string) => Buffer]>([
  ['as events, behind a line feed', [TYPE, 'text/event-stream'], plain(`\n${DOCUMENT}`)],
  ['as events, behind a byte order mark', [TYPE, 'text/event-stream'], plain(`\uFEFF${DOCUMENT}`)],
  ['as events, behind many blanks', [TYPE, 'text/event-stream'], plain(BLANKS + DOCUMENT)],
  ['as lines', [TYPE, 'application/x-ndjson'], plain(DOCUMENT)],
  ['behind many blanks', [TYPE, 'application/json'], plain(BLANKS + DOCUMENT)],
  ['behind more blanks than are kept', [], plain(' '.repeat(5_000) + DOCUMENT)],
  ...(['gzip', 'br', 'zstd', 'deflate'] as const).map((name): [string, string[], () => Buffer] => [
    `with the coding ${name}, which it does not have`,
    [CODING, name],
    plain(DOCUMENT),
  ]),
])('a document %s is read', async (_what, raw, encode) => {
  const body = encode(DOCUMENT);
  expect(await pushed(raw, body)).toEqual({ read: [DOCUMENT], passed: body });
});

test.each<[what: string, coding: string, encode: (text: string) => Buffer]>([
  ['gzip', 'gzip', gzipSync],
  ['br', 'br', brotliCompressSync],
  ['zstd', 'zstd', zstdCompressSync],
  ['deflate', 'deflate', deflateSync],
  ['raw deflate', 'deflate', deflateRawSync],
])('in %s, a document and a stream are read', async (_what, coding, encode) => {
  for (const text of [DOCUMENT, `data: ${DOCUMENT}\n\n`])
    expect(await pushed([CODING, coding], encode(text))).toEqual({
      read: [DOCUMENT],
      passed: Buffer.from(text),
    });
});

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
] as const)('a document in %s ends, although zeros follow it', async (coding, encode) => {
  const body = Buffer.concat([encode(DOCUMENT), Buffer.alloc(3)]);
  expect(await pushed([CODING, coding], body)).toEqual({ read: [DOCUMENT], passed: Buffer.from(DOCUMENT) });
});

test('a stream of events that begins with blanks is not held', async () => {
  const text = `${BLANKS}data: 1\n\n`;
  expect(await pushed([TYPE, 'text/event-stream'], Buffer.from(text))).toEqual({
    read: ['1'],
    passed: Buffer.from(text),
  });
});

test('a body that has only blanks passes', async () => {
  for (const type of ['text/event-stream', 'application/json'])
    expect(await pushed([TYPE, type], Buffer.from(' \n'))).toEqual({ read: [], passed: Buffer.from(' \n') });
});
