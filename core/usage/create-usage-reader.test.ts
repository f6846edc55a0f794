import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/properties.ts';
import { createUsageReader, MAX_READ_BYTES, type AnswerHead } from './create-usage-reader.ts';
import type { RequestUsage } from './usage.ts';

const JSON_HEAD: AnswerHead = {
  statusCode: 200,
  contentType: 'application/json',
  path: '/v1/chat/completions',
};
const STREAM_HEAD: AnswerHead = { ...JSON_HEAD, contentType: 'text/event-stream; charset=utf-8' };

function read(head: AnswerHead, body: string | Uint8Array, pieceLength = 7): RequestUsage | null {
  const reader = createUsageReader(head);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += pieceLength) reader.write(bytes.subarray(at, at + pieceLength));
  return reader.end();
}

const COMPLETION = JSON.stringify({
  object: 'chat.completion',
  model: 'gpt-4o',
  choices: [{ message: { content: 'Grüße 🎉' } }],
  usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 },
});
const COUNTED = { modelId: 'gpt-4o', promptTokens: 9, completionTokens: 12, totalTokens: 21 };

const chunk = (rest: object): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-4o', choices: [], ...rest })}\n\n`;
const STREAM = [
  chunk({ choices: [{ delta: { content: 'Grü' } }], usage: null }),
  chunk({ choices: [{ delta: { content: 'ße "usage" 🎉' } }], usage: null }),
  chunk({ usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 } }),
  'data: [DONE]\n\n',
].join('');

const ANTHROPIC = [
  'event: message_start\ndata: {"type":"message_start","message":{"type":"message","role":"assistant","model":"claude","usage":{"input_tokens":25,"output_tokens":1}}}\n\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n',
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
].join('');

describe('a JSON answer', () => {
  test.each([1, 7, 64, 100_000])('is read in pieces of %i bytes', (length) => {
    expect(read(JSON_HEAD, COMPLETION, length)).toEqual(COUNTED);
  });

  test.each<[string, Partial<AnswerHead>, string, RequestUsage | null]>([
    ['of a vendor type', { contentType: 'application/vnd.x+json' }, COMPLETION, COUNTED],
    ['said to be unencoded', { contentEncoding: 'identity' }, COMPLETION, COUNTED],
    ['that is an error', { statusCode: 500 }, COMPLETION, null],
    ['that is HTML', { contentType: 'text/html' }, COMPLETION, null],
    ['without a type', { contentType: undefined }, COMPLETION, null],
    ['that is cut short', {}, COMPLETION.slice(0, -4), { unavailable: 'the body is not whole JSON' }],
    ['that is cut short elsewhere', { path: '/orders' }, COMPLETION.slice(0, -4), null],
    ['that has no body, as to HEAD', {}, '', null],
    ['of something else', { path: '/orders' }, '{"id":1}', null],
    ['without usage', {}, '{"choices":[]}', { unavailable: 'the answer has no usage' }],
    ['that is gzipped', { contentEncoding: 'gzip' }, COMPLETION, { unavailable: 'content-encoding gzip' }],
    ['gzipped elsewhere', { contentEncoding: 'gzip', path: '/orders' }, COMPLETION, null],
    [
      "gzipped on the manifest's chat path",
      { contentEncoding: 'br', path: '/ask', chatPath: '/ask' },
      COMPLETION,
      { unavailable: 'content-encoding br' },
    ],
  ])('%s', (_name, head, body, expected) => {
    expect(read({ ...JSON_HEAD, ...head }, body)).toEqual(expected);
  });

  test.each<[string, number, RequestUsage]>([
    ['exactly 1 MiB', 0, COUNTED],
    ['one byte more', 1, { unavailable: 'the body is over 1 MiB' }],
  ])('of %s', (_name, more, expected) => {
    expect(
      read(JSON_HEAD, COMPLETION + ' '.repeat(MAX_READ_BYTES - Buffer.byteLength(COMPLETION) + more), 65_536),
    ).toEqual(expected);
  });

  test('over 1 MiB elsewhere is no call', () => {
    expect(read({ ...JSON_HEAD, path: '/export' }, ' '.repeat(MAX_READ_BYTES + 1), 65_536)).toBeNull();
  });

  test.each<[Partial<AnswerHead>, boolean]>([
    [{}, true],
    [{ contentEncoding: 'gzip' }, false],
    [{ contentType: 'image/png' }, false],
    [{ statusCode: 204 }, true],
    [{ statusCode: 404 }, false],
  ])('says whether it wants the body: %j %s', (head, wants) => {
    expect(createUsageReader({ ...JSON_HEAD, ...head }).wantsBody).toBe(wants);
  });
});

describe('a stream', () => {
  test.each([1, 2, 7, 100_000])('is read in pieces of %i bytes', (length) => {
    expect(read(STREAM_HEAD, STREAM, length)).toEqual(COUNTED);
    expect(read(STREAM_HEAD, ANTHROPIC, length)).toEqual({
      modelId: 'claude',
      promptTokens: 25,
      completionTokens: 15,
      totalTokens: 40,
    });
  });

  test.each<[string, string, RequestUsage | null]>([
    ['with CRLF', STREAM.replaceAll('\n', '\r\n'), COUNTED],
    ['with CR alone', STREAM.replaceAll('\n', '\r'), COUNTED],
    ['without its last blank line', STREAM.replace(/\n\ndata: \[DONE\]\n\n$/, ''), COUNTED],
    ['with comments and other fields', `: keep-alive\n\nid: 1\nretry: 5\n${STREAM}`, COUNTED],
    [
      'with usage in every chunk: the last counts',
      chunk({ usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } }) + STREAM,
      COUNTED,
    ],
    [
      'with data over several lines',
      'data: {"choices":[],"model":"gpt-4o",\ndata: "usage":{"prompt_tokens":9,"completion_tokens":12}}\n\n',
      COUNTED,
    ],
    [
      'of the Responses API',
      'data: {"type":"response.created","response":{"model":"gpt-4o","usage":null}}\n\ndata: {"type":"response.completed","response":{"model":"gpt-4o","usage":{"input_tokens":9,"output_tokens":12,"total_tokens":21}}}\n\n',
      COUNTED,
    ],
    ['without usage', chunk({}), { unavailable: 'the stream ended without usage' }],
    [
      'with a negative count beside a good one',
      chunk({ usage: { prompt_tokens: 3, completion_tokens: -4 } }),
      { unavailable: 'the stream has a usage that cannot be read' },
    ],
    [
      'with an absurd total',
      chunk({ usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 1e12 } }),
      { unavailable: 'the stream has a usage that cannot be read' },
    ],
    ['cut before its usage', STREAM.slice(0, 200), { unavailable: 'the stream ended without usage' }],
    ['of other events', 'data: {"price":3}\n\ndata: tick\n\n', null],
    ['with one event of 2 MiB', `data: ${'x'.repeat(2 * MAX_READ_BYTES)}\n\n${STREAM}`, COUNTED],
    [
      'with one event of many lines of 2 MiB',
      `${`data: ${'x'.repeat(1000)}\n`.repeat(2000)}\n${STREAM}`,
      COUNTED,
    ],
    ['that is empty', '', null],
  ])('%s', (_name, body, expected) => {
    expect(read(STREAM_HEAD, body, 4096)).toEqual(expected);
  });

  test('of many megabytes still tells its usage, since no more than an event is held', () => {
    const reader = createUsageReader(STREAM_HEAD);
    const noise = Buffer.from(chunk({ choices: [{ delta: { content: 'x'.repeat(8000) } }] }).repeat(8));
    for (let sent = 0; sent < 4 * MAX_READ_BYTES; sent += noise.length) reader.write(noise);
    reader.write(Buffer.from(STREAM));
    expect(reader.end()).toEqual(COUNTED);
  });
});

test('no body makes the reader throw, and its pieces make no difference', () => {
  const body = fc.array(
    fc.oneof(
      fc.string(),
      fc.constantFrom(
        'data: ',
        'data:',
        '\n\n',
        '\r',
        '{"usage":{"prompt_tokens":1}}',
        STREAM,
        ANTHROPIC,
        COMPLETION,
      ),
    ),
  );
  const head = fc.constantFrom(JSON_HEAD, STREAM_HEAD);
  fc.assert(
    fc.property(head, body, fc.integer({ min: 1, max: 9 }), (someHead, parts, length) => {
      const text = parts.join('');
      expect(read(someHead, text, length)).toEqual(read(someHead, text, 1_000_000));
    }),
  );
});
