import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/properties.ts';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { decodeBody } from '../../sidecar/usage/decode-body.ts';
import { MAX_READ_BYTES } from './answer-form.ts';
import { requestUsageOf } from './answer-usage.ts';
import { createUsageReader, type AnswerHead } from './create-usage-reader.ts';
import type { RequestUsage } from './usage.ts';

const JSON_HEAD: AnswerHead = {
  statusCode: 200,
  contentType: 'application/json',
  path: '/v1/chat/completions',
};
const STREAM_HEAD: AnswerHead = { ...JSON_HEAD, contentType: 'text/event-stream; charset=utf-8' };

const NO_USAGE = { unavailable: 'an answer on the declared chat path without readable usage' };

/** So many that a prefix of a body compresses as little as letters do. */
const LETTERS = createHash('shake256', { outputLength: 512 * 1024 })
  .update('seed')
  .digest('hex');
const noise = (length: number): string => LETTERS.repeat(Math.ceil(length / LETTERS.length)).slice(0, length);

function read(head: AnswerHead, body: string | Uint8Array, pieceLength = 7): RequestUsage | null {
  const reader = createUsageReader(head, decodeBody);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += pieceLength) reader.write(bytes.subarray(at, at + pieceLength));
  const usage = reader.end();
  return usage === null ? null : requestUsageOf(usage);
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
    ['said to be HTML', { contentType: 'text/html' }, COMPLETION, COUNTED],
    ['without a type', { contentType: undefined }, `\n${COMPLETION}`, COUNTED],
    ['said to be plain text', { contentType: 'text/plain', path: '/ask' }, COMPLETION, COUNTED],
    [
      'without a type and without usage',
      { contentType: undefined, path: '/ask' },
      '{"choices":[{"text":""}]}',
      { unavailable: 'the answer has no usage' },
    ],
    ['that is really HTML', { contentType: 'text/html' }, `<p>${COMPLETION}`, null],
    ['of blanks', { contentType: 'text/plain' }, ' '.repeat(200) + COMPLETION, null],
    ['that is cut short', {}, COMPLETION.slice(0, -4), { unavailable: 'the body is not whole JSON' }],
    ['that is cut short elsewhere', { path: '/orders' }, COMPLETION.slice(0, -4), null],
    ['that has no body, as to HEAD', {}, '', null],
    ['of something else', { path: '/orders' }, '{"id":1}', null],
    ['without usage', {}, '{"choices":[{"text":""}]}', { unavailable: 'the answer has no usage' }],
    [
      'said to be gzipped',
      { contentEncoding: 'gzip' },
      COMPLETION,
      { unavailable: 'content-encoding gzip cannot be decoded' },
    ],
    ['said to be gzipped elsewhere', { contentEncoding: 'gzip', path: '/orders' }, COMPLETION, null],
    [
      'of an unknown coding',
      { contentEncoding: 'gzip, br' },
      COMPLETION,
      { unavailable: 'content-encoding gzip, br' },
    ],
    [
      "of an unknown coding on the manifest's chat path",
      { contentEncoding: 'compress', path: '/ask', declared: { chatPath: '/ask', isMcp: false } },
      COMPLETION,
      { unavailable: 'content-encoding compress' },
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

  test.each<[string, string, RequestUsage | null]>([
    ['of another shape is no call', '{"rows":[', null],
    ["of a model's shape is one", COMPLETION.slice(0, -1), { unavailable: 'the body is over 1 MiB' }],
    [
      'of embeddings is one',
      '{"object":"list","data":[{"object":"embedding","embedding":[',
      { unavailable: 'the body is over 1 MiB' },
    ],
    [
      "of Anthropic's shape is one",
      '{"id":"m","type":"message","role":"assistant","content":[',
      { unavailable: 'the body is over 1 MiB' },
    ],
  ])('over 1 MiB elsewhere, %s', (_what, start, expected) => {
    const body = start + ' '.repeat(MAX_READ_BYTES);
    for (const contentType of ['application/json', undefined, 'text/plain'])
      expect(read({ statusCode: 200, contentType, path: '/export' }, body, 65_536)).toEqual(expected);
  });

  test.each<[Partial<AnswerHead>, boolean]>([
    [{}, true],
    [{ contentEncoding: 'gzip' }, true],
    [{ contentEncoding: 'compress' }, false],
    [{ contentEncoding: 'gzip', contentType: 'text/css', path: '/a.css' }, false],
    [{ statusCode: 204 }, true],
    [{ statusCode: 404 }, false],
  ])('says whether it wants the body: %j %s', (head, wants) => {
    expect(createUsageReader({ ...JSON_HEAD, ...head }, decodeBody).wantsBody).toBe(wants);
  });

  test('of a stream counts the memory of its calls, and gives it up', () => {
    const reader = createUsageReader({ ...JSON_HEAD, contentType: 'text/event-stream' }, decodeBody);
    const callOf = (n: number): string =>
      `data: {"object":"chat.completion","id":"${`${n}`.padEnd(200, 'x')}","choices":[{"text":""}]}\n\n`;
    for (let n = 0; n < 2000; n += 1) reader.write(Buffer.from(callOf(n)));
    // 1,000 calls are kept by id.
    expect(reader.keptBytes).toBeGreaterThan(500_000);
    expect(reader.keptBytes).toBeLessThan(2_000_000);
    reader.giveUp();
    const unavailable = 'the sidecar had no memory to read the body';
    expect([reader.wantsBody, reader.keptBytes]).toEqual([false, 0]);
    expect(reader.end()).toEqual({ calls: [], unknown: [null], reason: unavailable });
  });

  test('of another form is wanted no more once its first bytes are there', () => {
    const reader = createUsageReader({ ...JSON_HEAD, contentType: 'image/png' }, decodeBody);
    reader.write(Buffer.alloc(100));
    expect([reader.wantsBody, reader.keptBytes, reader.end()]).toEqual([false, 0, null]);
  });

  test.each<[string, AnswerHead, string, RequestUsage | null]>([
    ['any 2xx answer to a POST', { statusCode: 200, contentType: 'text/html' }, '<p>Hello', NO_USAGE],
    ['one without a body', { statusCode: 202 }, '', NO_USAGE],
    ['JSON of another shape', { statusCode: 200, contentType: 'application/json' }, '{"text":1}', NO_USAGE],
    ['one with usage', JSON_HEAD, COMPLETION, COUNTED],
    ['a GET', { statusCode: 200, method: 'GET' }, '', null],
    ['an error', { statusCode: 500 }, '', null],
    ['another path', { statusCode: 200, path: '/other' }, '', null],
  ])('on the declared chat path is a call without usage: %s', (_what, head, body, expected) => {
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
  const unknown = { unavailable: 'the result of a tool has no usage' };
  const counted = { modelId: 'unknown', promptTokens: 3, completionTokens: 4, totalTokens: 7 };
  test.each<[string, readonly unknown[], RequestUsage | null, RequestUsage | null]>([
    ['without usage', [message(text)], unknown, null],
    ['behind notifications', [progress, message(text)], unknown, null],
    ['with usage', [progress, message(used)], counted, counted],
    ['of a handshake', [message({ protocolVersion: '2025-06-18', serverInfo: {} })], null, null],
    ['of a list', [message({ tools: [{ name: 'search' }] })], null, null],
    ['of a ping', [message({})], null, null],
    ['that is an error', [{ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no' } }], null, null],
    ['that is none', [progress], null, null],
  ])('%s', (_what, messages, ofMcp, ofOther) => {
    for (const [isMcp, expected] of [
      [true, ofMcp],
      [false, ofOther],
    ] as const) {
      const declared = { chatPath: undefined, isMcp };
      const stream = messages.map((each) => `event: message\ndata: ${JSON.stringify(each)}\n\n`).join('');
      expect(read({ ...STREAM_HEAD, method: 'POST', declared }, stream)).toEqual(expected);
      const body = JSON.stringify(messages.at(-1));
      expect(read({ ...JSON_HEAD, method: 'POST', path: '/mcp', declared }, body)).toEqual(expected);
    }
  });
});

describe.each<[string, (body: string) => Uint8Array]>([
  ['gzip', gzipSync],
  ['br', (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['zstd', zstdCompressSync],
])('an answer that is compressed by %s', (contentEncoding, compress) => {
  const json = { ...JSON_HEAD, contentEncoding, path: '/ask' };
  const large = JSON.stringify({ object: 'chat.completion', choices: [], pad: noise(2 * MAX_READ_BYTES) });
  const largeStream = Array.from({ length: 2000 }, (_, index) =>
    chunk({ choices: [{ delta: { content: LETTERS.slice(index * 500, index * 500 + 1000) } }] }),
  ).join('');
  test.each<[string, AnswerHead, string, RequestUsage | null]>([
    ['JSON', json, COMPLETION, COUNTED],
    ['a stream', { ...STREAM_HEAD, contentEncoding }, STREAM, COUNTED],
    ['JSON without a content type', { ...json, contentType: undefined }, COMPLETION, COUNTED],
    ['a stream without a content type', { ...json, contentType: 'text/plain' }, STREAM, COUNTED],
    ['something else', json, '{"id":1}', null],
    ['nothing', json, '', null],
    ['a picture', { ...json, contentType: 'image/png' }, COMPLETION, null],
    ['more than can be read', json, large, { unavailable: 'the body is over 1 MiB' }],
    [
      'a stream of more than can be read',
      { ...json, contentType: 'text/event-stream' },
      largeStream,
      { unavailable: 'the body is over 1 MiB' },
    ],
    ['much of something else', json, JSON.stringify({ pad: noise(2 * MAX_READ_BYTES) }), null],
    ['a bomb', json, ' '.repeat(8 * MAX_READ_BYTES), null],
  ])('is read: %s', (_what, head, body, expected) => {
    expect(read(head, compress(body), 65_536)).toEqual(expected);
  });

  test('and cut short gives what had come', () => {
    const bytes = compress(chunk({}) + chunk({ choices: [{ delta: { content: noise(500_000) } }] }) + STREAM);
    const head = { ...STREAM_HEAD, contentEncoding };
    expect(read(head, bytes.subarray(0, Math.ceil(bytes.length / 2)), 65_536)).toEqual({
      unavailable: 'the answer has no usage',
    });
  });
});

test('a zstd frame that claims a window of 128 MiB is not decoded', () => {
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
    ['without usage', chunk({}), { unavailable: 'the answer has no usage' }],
    [
      'with a negative count beside a good one',
      chunk({ usage: { prompt_tokens: 3, completion_tokens: -4 } }),
      { unavailable: 'the answer has a usage that cannot be read' },
    ],
    [
      'with an absurd total',
      chunk({ usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 1e12 } }),
      { unavailable: 'the answer has a usage that cannot be read' },
    ],
    ['cut before its usage', STREAM.slice(0, 200), { unavailable: 'the answer has no usage' }],
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
    const reader = createUsageReader(STREAM_HEAD, decodeBody);
    const noise = Buffer.from(chunk({ choices: [{ delta: { content: 'x'.repeat(8000) } }] }).repeat(8));
    for (let sent = 0; sent < 4 * MAX_READ_BYTES; sent += noise.length) reader.write(noise);
    reader.write(Buffer.from(STREAM));
    expect(requestUsageOf(reader.end()!)).toEqual(COUNTED);
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
