import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { decodeBody } from '../../sidecar/usage/decode-body.ts';
import { MAX_READ_BYTES } from './response-form.ts';
import { requestUsageOf } from './response-usage.ts';
import { createUsageReader, type UsageHead } from './create-usage-reader.ts';
import type { RequestUsage } from '../shapes/request-usage.ts';

const JSON_HEAD: UsageHead = {
  statusCode: 200,
  contentType: 'application/json',
  path: '/v1/chat/completions',
};
const STREAM_HEAD: UsageHead = { ...JSON_HEAD, contentType: 'text/event-stream; charset=utf-8' };

const TOO_LARGE = { unavailable: 'the body is larger than 1 MiB' };
const WITHOUT_USAGE = { unavailable: 'the response has no usage' };
const INVALID_USAGE = { unavailable: 'the response has invalid usage' };
const NO_USAGE = { unavailable: 'response without readable usage on the declared chat path' };

/** Random letters, long enough that a prefix of a body does not compress well. */
const LETTERS = createHash('shake256', { outputLength: 512 * 1024 })
  .update('seed')
  .digest('hex');
const noise = (length: number): string => LETTERS.repeat(Math.ceil(length / LETTERS.length)).slice(0, length);

function read(head: UsageHead, body: string | Uint8Array, pieceLength = 7): RequestUsage | null {
  const reader = createUsageReader(head, decodeBody);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += pieceLength) reader.write(bytes.subarray(at, at + pieceLength));
  const usage = reader.end();
  return usage === null ? null : requestUsageOf(usage);
}

const COMPLETION = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o',
  choices: [{ message: { content: 'Grüße 🎉' } }],
  usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 },
});
const COUNTED = { modelId: 'gpt-4o', promptTokens: 9, completionTokens: 12, totalTokens: 21 };

const chunk = (rest: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'gpt-4o', choices: [], ...rest })}\n\n`;
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

describe('a JSON response', () => {
  test.each([1, 7, 64, 100_000])('is read in pieces of %i bytes', (length) => {
    expect(read(JSON_HEAD, COMPLETION, length)).toEqual(COUNTED);
  });

  test.each<[string, Partial<UsageHead>, string, RequestUsage | null]>([
    ['with a vendor content type', { contentType: 'application/vnd.x+json' }, COMPLETION, COUNTED],
    ['with content-encoding identity', { contentEncoding: 'identity' }, COMPLETION, COUNTED],
    ['with an error status', { statusCode: 500 }, COMPLETION, null],
    ['with content type text/html', { contentType: 'text/html' }, COMPLETION, COUNTED],
    ['without content type', { contentType: undefined }, `\n${COMPLETION}`, COUNTED],
    ['with content type text/plain', { contentType: 'text/plain', path: '/ask' }, COMPLETION, COUNTED],
    [
      'without content type and without usage',
      { contentType: undefined, path: '/ask' },
      '{"id":"1","object":"text_completion","model":"m","choices":[{"text":""}]}',
      WITHOUT_USAGE,
    ],
    ['with an HTML body', { contentType: 'text/html' }, `<p>${COMPLETION}`, null],
    ['with many leading blanks', { contentType: 'text/plain' }, ' '.repeat(200) + COMPLETION, null],
    ['that is truncated', {}, COMPLETION.slice(0, -4), { unavailable: 'the body is not complete JSON' }],
    ['that is truncated, on another path', { path: '/orders' }, COMPLETION.slice(0, -4), null],
    ['without a body, as for HEAD', {}, '', null],
    ['that is not a model response', { path: '/orders' }, '{"id":1}', null],
    ['without usage', {}, '{"choices":[{"text":""}]}', WITHOUT_USAGE],
    [
      'with a wrong content-encoding gzip',
      { contentEncoding: 'gzip' },
      COMPLETION,
      { unavailable: 'content-encoding gzip cannot be decoded' },
    ],
    [
      'with a wrong content-encoding gzip, on another path',
      { contentEncoding: 'gzip', path: '/orders' },
      COMPLETION,
      null,
    ],
    [
      'with several content codings',
      { contentEncoding: 'gzip, br' },
      COMPLETION,
      { unavailable: 'content-encoding gzip, br' },
    ],
    [
      'with an unsupported content coding on the declared chat path',
      { contentEncoding: 'compress', path: '/ask', declared: { chatPath: '/ask', isMcp: false } },
      COMPLETION,
      { unavailable: 'content-encoding compress' },
    ],
  ])('yields the expected usage %s', (_name, head, body, expected) => {
    expect(read({ ...JSON_HEAD, ...head }, body)).toEqual(expected);
  });

  test.each<[string, number, RequestUsage]>([
    ['is read at exactly 1 MiB', 0, COUNTED],
    ['is not read at one byte above 1 MiB', 1, TOO_LARGE],
  ])('%s', (_name, more, expected) => {
    expect(
      read(JSON_HEAD, COMPLETION + ' '.repeat(MAX_READ_BYTES - Buffer.byteLength(COMPLETION) + more), 65_536),
    ).toEqual(expected);
  });

  test.each<[string, string, RequestUsage | null]>([
    ['does not count as a call if it does not look like a model response', '{"rows":[', null],
    ['counts as a call if it looks like a completion', COMPLETION.slice(0, -1), TOO_LARGE],
    [
      'counts as a call if it looks like embeddings',
      '{"object":"list","data":[{"object":"embedding","embedding":[',
      TOO_LARGE,
    ],
    [
      'counts as a call if it looks like an Anthropic message',
      '{"id":"m","type":"message","role":"assistant","content":[',
      TOO_LARGE,
    ],
  ])('larger than 1 MiB on another path %s', (_what, start, expected) => {
    const body = start + ' '.repeat(MAX_READ_BYTES);
    for (const contentType of ['application/json', undefined, 'text/plain'])
      expect(read({ statusCode: 200, contentType, path: '/export' }, body, 65_536)).toEqual(expected);
  });

  test.each<[Partial<UsageHead>, boolean]>([
    [{}, true],
    [{ contentEncoding: 'gzip' }, true],
    [{ contentEncoding: 'compress' }, false],
    [{ contentEncoding: 'gzip', contentType: 'text/css', path: '/a.css' }, false],
    [{ statusCode: 204 }, true],
    [{ statusCode: 404 }, false],
  ])('with head %j needs its body: %s', (head, expected) => {
    expect(createUsageReader({ ...JSON_HEAD, ...head }, decodeBody).needsBody).toBe(expected);
  });

  test('that is a stream counts the memory of its calls and releases it on giveUp', () => {
    const reader = createUsageReader({ ...JSON_HEAD, contentType: 'text/event-stream' }, decodeBody);
    const callOf = (n: number): string =>
      `data: {"object":"chat.completion","id":"${`${n}`.padEnd(200, 'x')}","choices":[{"text":""}]}\n\n`;
    for (let n = 0; n < 2000; n += 1) reader.write(Buffer.from(callOf(n)));
    // 1,000 calls are kept by id.
    expect(reader.keptBytes).toBeGreaterThan(500_000);
    expect(reader.keptBytes).toBeLessThan(2_000_000);
    reader.giveUp();
    const unavailable = 'the sidecar did not have enough memory to read the body';
    expect([reader.needsBody, reader.keptBytes]).toEqual([false, 0]);
    expect(reader.end()).toEqual({ calls: [], unknown: [null], reason: unavailable });
  });

  test('with another form needs no more than its first bytes', () => {
    const reader = createUsageReader({ ...JSON_HEAD, contentType: 'image/png' }, decodeBody);
    reader.write(Buffer.alloc(100));
    expect([reader.needsBody, reader.keptBytes, reader.end()]).toEqual([false, 0, null]);
  });

  test.each<[string, UsageHead, string, RequestUsage | null]>([
    ['a 2xx response to a POST counts', { statusCode: 200, contentType: 'text/html' }, '<p>Hello', NO_USAGE],
    ['a response without a body counts', { statusCode: 202 }, '', NO_USAGE],
    [
      'JSON of another shape counts',
      { statusCode: 200, contentType: 'application/json' },
      '{"text":1}',
      NO_USAGE,
    ],
    ['a response with usage does not count', JSON_HEAD, COMPLETION, COUNTED],
    ['a GET does not count', { statusCode: 200, method: 'GET' }, '', null],
    ['an error does not count', { statusCode: 500 }, '', null],
    ['another path does not count', { statusCode: 200, path: '/other' }, '', null],
  ])('on the declared chat path, %s as a call without usage', (_what, head, body, expected) => {
    expect(
      read(
        {
          method: 'POST',
          declared: { chatPath: '/ask', isMcp: false },
          ...head,
          path: head.path === '/other' ? '/other' : '/ask',
        },
        body,
      ),
    ).toEqual(expected);
  });
});

describe('the result of an MCP tool', () => {
  const message = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result });
  const text = { content: [{ type: 'text', text: '42' }] };
  const used = { ...text, structuredContent: { usage: { prompt_tokens: 3, completion_tokens: 4 } } };
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } };
  const unknown = { unavailable: 'the tool result has no usage' };
  const counted = { modelId: 'unknown', promptTokens: 3, completionTokens: 4, totalTokens: 7 };
  test.each<[string, readonly unknown[], RequestUsage | null, RequestUsage | null]>([
    ['without usage', [message(text)], unknown, null],
    ['without usage after notifications', [progress, message(text)], unknown, null],
    ['with usage', [progress, message(used)], counted, null],
    ['in a handshake', [message({ protocolVersion: '2025-06-18', serverInfo: {} })], null, null],
    ['in a list of tools', [message({ tools: [{ name: 'search' }] })], null, null],
    ['in a ping', [message({})], null, null],
    ['that is an error', [{ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no' } }], null, null],
    ['that is missing', [progress], null, null],
  ])('yields the expected usage %s', (_what, messages, ofMcp, ofOther) => {
    for (const [isMcp, expected] of [
      [true, ofMcp],
      [false, ofOther],
    ] as const) {
      const declared = { chatPath: undefined, isMcp };
      const stream = messages.map((each) => `event: message\ndata: ${JSON.stringify(each)}\n\n`).join('');
      expect(read({ ...STREAM_HEAD, method: 'POST', path: '/mcp', declared }, stream)).toEqual(expected);
      const body = JSON.stringify(messages.at(-1));
      expect(read({ ...JSON_HEAD, method: 'POST', path: '/mcp', declared }, body)).toEqual(expected);
    }
  });
});

describe.each<[string, (body: string) => Uint8Array]>([
  ['gzip', gzipSync],
  ['br', (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['zstd', zstdCompressSync],
])('a response compressed with %s', (contentEncoding, compress) => {
  const json = { ...JSON_HEAD, contentEncoding, path: '/ask' };
  const large = JSON.stringify({ object: 'chat.completion', choices: [], pad: noise(2 * MAX_READ_BYTES) });
  const largeStream = Array.from({ length: 2000 }, (_, index) =>
    chunk({ choices: [{ delta: { content: LETTERS.slice(index * 500, index * 500 + 1000) } }] }),
  ).join('');
  test.each<[string, UsageHead, string, RequestUsage | null]>([
    ['JSON', json, COMPLETION, COUNTED],
    ['a stream', { ...STREAM_HEAD, contentEncoding }, STREAM, COUNTED],
    ['JSON without a content type', { ...json, contentType: undefined }, COMPLETION, COUNTED],
    ['a stream without a content type', { ...json, contentType: 'text/plain' }, STREAM, COUNTED],
    ['JSON that is not a model response', json, '{"id":1}', null],
    ['an empty body', json, '', null],
    ['an image', { ...json, contentType: 'image/png' }, COMPLETION, null],
    ['a body that is too large', json, large, TOO_LARGE],
    ['a stream that is too large', { ...json, contentType: 'text/event-stream' }, largeStream, TOO_LARGE],
    [
      'a large body that is not a model response',
      json,
      JSON.stringify({ pad: noise(2 * MAX_READ_BYTES) }),
      null,
    ],
    ['a decompression bomb', json, ' '.repeat(8 * MAX_READ_BYTES), null],
  ])('is decoded within the limit: %s', (_what, head, body, expected) => {
    expect(read(head, compress(body), 65_536)).toEqual(expected);
  });

  test('is decoded as far as possible if it is truncated', () => {
    const bytes = compress(chunk({}) + chunk({ choices: [{ delta: { content: noise(500_000) } }] }) + STREAM);
    const head = { ...STREAM_HEAD, contentEncoding };
    expect(read(head, bytes.subarray(0, Math.ceil(bytes.length / 2)), 65_536)).toEqual({
      unavailable: 'the response has no usage',
    });
  });
});

test('a zstd frame that declares a window of 128 MiB is not decoded', () => {
  const frame = Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3]),
    Buffer.from([0x01, 0, 0]),
  ]);
  expect(decodeBody('zstd', frame, 1024)).toBeNull();
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
    ['with only CR', STREAM.replaceAll('\n', '\r'), COUNTED],
    ['without its last blank line', STREAM.replace(/\n\ndata: \[DONE\]\n\n$/, ''), COUNTED],
    ['with comments and other fields', `: keep-alive\n\nid: 1\nretry: 5\n${STREAM}`, COUNTED],
    [
      'with usage in every chunk, of which the last counts',
      chunk({ usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } }) + STREAM,
      COUNTED,
    ],
    [
      'with data in several lines',
      'data: {"choices":[],"model":"gpt-4o",\ndata: "usage":{"prompt_tokens":9,"completion_tokens":12}}\n\n',
      COUNTED,
    ],
    [
      'of the Responses API',
      'data: {"type":"response.created","response":{"model":"gpt-4o","usage":null}}\n\ndata: {"type":"response.completed","response":{"model":"gpt-4o","usage":{"input_tokens":9,"output_tokens":12,"total_tokens":21}}}\n\n',
      COUNTED,
    ],
    ['without usage', chunk({}), WITHOUT_USAGE],
    [
      'with a valid and a negative count',
      chunk({ usage: { prompt_tokens: 3, completion_tokens: -4 } }),
      INVALID_USAGE,
    ],
    [
      'with a total above the limit',
      chunk({ usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 1e12 } }),
      INVALID_USAGE,
    ],
    ['that is truncated before its usage', STREAM.slice(0, 200), WITHOUT_USAGE],
    ['with other events', 'data: {"price":3}\n\ndata: tick\n\n', null],
    ['with one event of 2 MiB', `data: ${'x'.repeat(2 * MAX_READ_BYTES)}\n\n${STREAM}`, COUNTED],
    [
      'with one event of 2 MiB in many lines',
      `${`data: ${'x'.repeat(1000)}\n`.repeat(2000)}\n${STREAM}`,
      COUNTED,
    ],
    ['that is empty', '', null],
  ])('yields the expected usage %s', (_name, body, expected) => {
    expect(read(STREAM_HEAD, body, 4096)).toEqual(expected);
  });

  test('of many megabytes is read, because only one event is kept at a time', () => {
    const reader = createUsageReader(STREAM_HEAD, decodeBody);
    const noise = Buffer.from(chunk({ choices: [{ delta: { content: 'x'.repeat(8000) } }] }).repeat(8));
    for (let sent = 0; sent < 4 * MAX_READ_BYTES; sent += noise.length) reader.write(noise);
    reader.write(Buffer.from(STREAM));
    expect(requestUsageOf(reader.end()!)).toEqual(COUNTED);
  });
});

test('the reader never throws, and the result does not depend on the chunk boundaries', () => {
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
