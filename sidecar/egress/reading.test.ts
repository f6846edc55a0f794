import { request as httpRequest } from 'node:http';
import {
  brotliCompressSync,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { bodyText } from '../../core/egress/body-text.ts';
import { FAIL_OPEN, type FailModes } from '../../core/egress/fail-modes.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import { laneManifest, post, startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';
import { askRaw } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

type Headers = Record<string, string | undefined>;
type Form = [what: string, headers: Headers, encode: (json: string) => Buffer];

const utf8 = (text: string): Buffer => Buffer.from(text);
const TYPE = 'content-type';
const CODING = 'content-encoding';
const inUtf32 = (text: string, isLittle: boolean): Buffer => {
  const bytes = Buffer.alloc(4 * text.length);
  for (let at = 0; at < text.length; at++)
    if (isLittle) bytes.writeUInt32LE(text.charCodeAt(at), 4 * at);
    else bytes.writeUInt32BE(text.charCodeAt(at), 4 * at);
  return bytes;
};
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');

/** Forms of a JSON document that a client or a server reads. */
const READ: readonly Form[] = [
  ['as JSON', {}, utf8],
  ['without a type', { [TYPE]: undefined }, utf8],
  ['as events', { [TYPE]: 'text/event-stream' }, utf8],
  ['as lines', { [TYPE]: 'application/x-ndjson' }, (text) => utf8(text.replace('{', '{\n'))],
  ['with an unknown coding', { [CODING]: 'utf-8' }, utf8],
  ['in gzip', { [CODING]: 'gzip' }, gzipSync],
  ['in two codings', { [CODING]: 'gzip, br' }, (text) => brotliCompressSync(gzipSync(text))],
  ['behind a byte order mark', {}, (text) => utf8(`\uFEFF${text}`)],
  ['in UTF-16', {}, utf16],
  ['with NaN', {}, (text) => utf8(text.replace('{', '{"x":[NaN,Infinity,-Infinity,"NaN \\"Infinity"],'))],
  ['with a member twice', {}, (text) => utf8(text.replace('{', '{"model":"gpt-5","choices":[],'))],
];
/** More names and codings of these forms: they are resolved before the protocol matters. */
const MORE: readonly Form[] = [
  ['as a form', { [TYPE]: 'application/x-www-form-urlencoded' }, utf8],
  ['as text', { [TYPE]: 'text/plain; charset=utf-8' }, utf8],
  ['as HTML', { [TYPE]: 'text/html' }, utf8],
  ['as bytes', { [TYPE]: 'application/octet-stream' }, utf8],
  ['with another JSON type', { [TYPE]: 'application/vnd.api+json' }, utf8],
  ['with a type in capitals', { [TYPE]: 'Application/JSON' }, utf8],
  ['with an empty type', { [TYPE]: '' }, utf8],
  ['with an empty coding', { [CODING]: '' }, utf8],
  ['with the coding identity', { [CODING]: 'identity' }, utf8],
  ['with the coding gzip, which it does not have', { [CODING]: 'gzip' }, utf8],
  ['in gzip by its old name', { [CODING]: 'X-GZIP' }, gzipSync],
  ['in gzip and identity', { [CODING]: 'gzip, identity' }, gzipSync],
  ['in br', { [CODING]: 'br' }, brotliCompressSync],
  ['in zstd', { [CODING]: 'zstd' }, zstdCompressSync],
  ['in deflate', { [CODING]: 'deflate' }, deflateSync],
  ['in raw deflate', { [CODING]: 'deflate' }, deflateRawSync],
  ['behind two byte order marks', {}, (text) => utf8(`\uFEFF\uFEFF${text}`)],
  ['behind blanks', { [TYPE]: 'text/plain' }, (text) => utf8(`\r\n ${text}\n`)],
  ['behind many blanks', {}, (text) => utf8('\n'.repeat(100) + text)],
  ['in gzip, before zeros', { [CODING]: 'gzip' }, (text) => Buffer.concat([gzipSync(text), Buffer.alloc(3)])],
  ['in UTF-16 behind a byte order mark', {}, (text) => utf16(`\uFEFF${text}`)],
  ['in UTF-16, big-endian', {}, (text) => utf16(text).swap16()],
  ['in UTF-32', {}, (text) => inUtf32(text, true)],
  ['in UTF-32, big-endian', {}, (text) => inUtf32(`\uFEFF${text}`, false)],
];

/** Forms that no client and no server of a lane reads. */
const UNREAD: readonly Form[] = [
  ['with a comma at its end', {}, (text) => utf8(text.replace(/}$/, ',}'))],
  ['cut', {}, (text) => utf8(text.slice(0, -1))],
  ['in gzip, cut', { [CODING]: 'gzip' }, (text) => gzipSync(text).subarray(0, 30)],
];
const MORE_UNREAD: readonly Form[] = [
  ['with a comment', {}, (text) => utf8(`/* */${text}`)],
  ['with quotes of another kind', {}, (text) => utf8(text.replaceAll('"', "'"))],
  ['in gzip without its header', {}, gzipSync],
  ['in four codings', { [CODING]: 'gzip, gzip, gzip, gzip' }, utf8Gzip4],
  ['with a number that is not one', {}, (text) => utf8(text.replace('{', '{"x":-NaN,'))],
];
function utf8Gzip4(text: string): Buffer {
  return gzipSync(gzipSync(gzipSync(gzipSync(text))));
}
/** Forms of a request only. */
const FORM_FIELDS: Form = [
  'as fields of a form',
  { [TYPE]: 'multipart/form-data; boundary=x' },
  () => utf8('--x--'),
];
const FOLLOWED: Form = ['followed by something', {}, (text) => utf8(`${text} {"model":"gpt-5"}`)];

const CLOSED: FailModes = { all: 'closed', lanes: new Map() };
const MODES: readonly [PolicyMode, FailModes][] = [
  ['enforce', FAIL_OPEN],
  ['enforce', CLOSED],
  ['track', FAIL_OPEN],
  ['track', CLOSED],
];

/** A route whose requests and responses are read. */
interface Route {
  lane: string;
  path: string;
  /** A request for the model. */
  request: (model: string) => object;
  /** A response with a call of each tool; null: the protocol has none. */
  response: ((...tools: string[]) => object) | null;
}

const fn = (name: string): object => ({ id: name, type: 'function', function: { name, arguments: '{}' } });
const chat = (...tools: string[]): object => ({
  model: 'gpt-5',
  choices: [
    { index: 0, message: { role: 'assistant', tool_calls: tools.map(fn) }, finish_reason: 'tool_calls' },
  ],
});
const ROUTES: readonly Route[] = [
  {
    lane: 'openai',
    path: '/openai/v1/chat/completions',
    request: (model) => ({ model, messages: [] }),
    response: chat,
  },
  {
    ...{ lane: 'openai', path: '/openai/v1/responses', request: (model) => ({ model, input: 'hi' }) },
    response: (...tools) => ({
      ...{ id: 'r', object: 'response', model: 'gpt-5', status: 'completed' },
      output: tools.map((name) => ({ type: 'function_call', call_id: name, name, arguments: '{}' })),
    }),
  },
  {
    lane: 'openai',
    path: '/openai/v1/embeddings',
    request: (model) => ({ model, input: 'hi' }),
    response: null,
  },
  {
    ...{ lane: 'anthropic', path: '/anthropic/v1/messages', request: (model) => ({ model, messages: [] }) },
    response: (...tools) => ({
      ...{ model: 'gpt-5', role: 'assistant', stop_reason: 'tool_use' },
      content: tools.map((name) => ({ type: 'tool_use', id: name, name, input: {} })),
    }),
  },
  {
    ...{ lane: 'gemini', path: '/gemini/v1beta/models/gpt-5:generateContent' },
    request: (model) => ({
      contents: [],
      tools: model === 'gpt-5' ? [] : [{ functionDeclarations: [{ name: model }] }],
    }),
    response: (...tools) => ({
      candidates: [{ content: { parts: tools.map((name) => ({ functionCall: { name, args: {} } })) } }],
    }),
  },
  {
    ...{ lane: 'cohere', path: '/cohere/v2/chat', request: (model) => ({ model, messages: [] }) },
    response: (...tools) => ({
      finish_reason: 'TOOL_CALL',
      message: { role: 'assistant', tool_calls: tools.map(fn) },
    }),
  },
  {
    ...{
      lane: 'ollama',
      path: '/ollama/api/chat',
      request: (model) => ({ model, messages: [], stream: false }),
    },
    response: (...tools) => ({
      ...{ model: 'gpt-5', done: true },
      message: {
        role: 'assistant',
        tool_calls: tools.map((name) => ({ function: { name, arguments: {} } })),
      },
    }),
  },
];

/** All forms for one route, and a few for each of the others. */
const isFirst = (path: string): boolean => path === ROUTES[0]?.path;
const readAt = (path: string): readonly Form[] => (isFirst(path) ? [...READ, ...MORE] : READ);
const unreadAt = (path: string): readonly Form[] => (isFirst(path) ? [...UNREAD, ...MORE_UNREAD] : UNREAD);

let rigs: EgressRig[] = [];
beforeAll(async () => {
  const lanes =
    'openai=vendor/v1,anthropic=vendor,gemini=vendor,cohere=vendor,ollama=vendor,mcp:files=vendor/mcp';
  const manifest = laneManifest({
    mcp: { servers: [{ name: 'files', url: 'https://files.example.com/mcp' }] },
  });
  rigs = await Promise.all(
    MODES.map(([mode, failModes]) =>
      startEgressRig({ lanes, mode, failModes, manifest, memoryBytes: 64 * 1024 ** 2 }),
    ),
  );
});
afterAll(() => Promise.all(rigs.map((rig) => rig.close())));

const OK = JSON.stringify({ model: 'gpt-5', choices: [] });
beforeEach(() => {
  for (const { vendor } of rigs) {
    vendor.requests.length = 0;
    vendor.respond = (_seen, response) =>
      void response.writeHead(200, { [TYPE]: 'application/json' }).end(OK);
  }
});

const blocks = (index: number): boolean => MODES[index]?.[0] === 'enforce';
const isClosed = (index: number): boolean => blocks(index) && MODES[index]?.[1] === CLOSED;
const violationsOf = (response: { headers: NodeJS.Dict<string | string[]> }): unknown =>
  response.headers['x-platform-policy-violations'];

/** Sends the same request through the lanes of all modes. */
function eachMode(run: (rig: EgressRig, index: number) => Promise<void>): Promise<unknown> {
  return Promise.all(rigs.map(run));
}

describe.each(ROUTES)('a request to $path', ({ path, request }) => {
  test.each([...readAt(path), FOLLOWED])('%s is read', async (_what, headers, encode) => {
    const [forbidden, allowed] = ['other', 'gpt-5'].map((model) => encode(JSON.stringify(request(model))));
    await eachMode(async (rig, index) => {
      const response = await post(rig.port, path, forbidden, headers);
      expect(violationsOf(response)).toMatch(/^(model|tool)_not_declared$/);
      expect(response.status).toBe(blocks(index) ? 403 : 200);
      expect((await post(rig.port, path, allowed, headers)).status).toBe(200);
      const sent = rig.vendor.requests.map(({ bytes }) => bytes);
      expect(sent).toEqual(blocks(index) ? [allowed] : [forbidden, allowed]);
    });
  });

  test.each([...unreadAt(path), FORM_FIELDS])(
    '%s is denied if the lane fails closed',
    async (_what, headers, encode) => {
      const body = encode(JSON.stringify(request('gpt-5')));
      await eachMode(async (rig, index) => {
        const response = await post(rig.port, path, body, headers);
        expect([response.status, violationsOf(response)]).toEqual(
          isClosed(index) ? [403, 'body_unread'] : [200, undefined],
        );
        expect(rig.vendor.requests.map(({ bytes }) => bytes)).toEqual(isClosed(index) ? [] : [body]);
      });
    },
  );
});

const WITH_CALLS = ROUTES.flatMap(({ path, request, response }) =>
  response === null ? [] : [{ path, request, response }],
);

/** Sends the head as it is written here. */
function respondWith(rig: EgressRig, headers: Headers, body: Buffer, chunkBytes = body.length): void {
  const all = Object.entries({ [TYPE]: 'application/json', ...headers });
  const lines = all
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]))
    .join('');
  rig.vendor.respond = (_seen, { socket }) => {
    socket?.setNoDelay(true).write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${lines}\r\n`);
    for (let at = 0; at < body.length; at += chunkBytes) socket?.write(body.subarray(at, at + chunkBytes));
    socket?.end();
  };
}

describe.each(WITH_CALLS)('a response from $path', ({ path, request, response }) => {
  test.each(readAt(path))('%s is read', async (_what, headers, encode) => {
    const [forbidden, allowed] = [response('delete_all', 'search'), response('search')].map((value) =>
      encode(JSON.stringify(value)),
    );
    await eachMode(async (rig, index) => {
      respondWith(rig, headers, allowed ?? Buffer.alloc(0));
      const passed = await post(rig.port, path, request('gpt-5'));
      // In enforce, a coded response is decoded as it arrives.
      if (blocks(index) && passed.headers[CODING] === undefined && headers[CODING] !== undefined)
        expect(JSON.parse(bodyText(passed.bytes).text)).toEqual(response('search'));
      else expect(passed.bytes).toEqual(allowed);
      respondWith(rig, headers, forbidden ?? Buffer.alloc(0));
      const result = await post(rig.port, path, request('gpt-5'));
      if (!blocks(index)) expect(result.bytes).toEqual(forbidden);
      else {
        expect(result.headers[CODING] ?? '').not.toMatch(/gzip|br|zstd|deflate/);
        const text = bodyText(result.bytes).text;
        expect(text).not.toContain('delete_all');
        expect(text).toContain('search');
      }
      await until(() => rig.egress.log.newest(1)[0]?.toolsCalled.length === 2, 'both calls in the log');
      expect(rig.egress.log.newest(1)[0]).toMatchObject({
        violations: ['tool_not_declared'],
        blocked: blocks(index),
      });
    });
  });

  test.each(unreadAt(path))('%s is denied if the lane fails closed', async (_what, headers, encode) => {
    const body = encode(JSON.stringify(response('delete_all')));
    await eachMode(async (rig, index) => {
      respondWith(rig, headers, body);
      const response = await post(rig.port, path, request('gpt-5'));
      expect([response.status, violationsOf(response)]).toEqual(
        isClosed(index) ? [403, 'body_unread'] : [200, undefined],
      );
      if (!isClosed(index)) expect(response.bytes).toEqual(body);
    });
  });
});

const EVENTS = ['delete_all', 'search'].map((name, index) => ({
  model: 'gpt-5',
  choices: [{ index: 0, delta: { tool_calls: [{ index, ...fn(name) }] }, finish_reason: null }],
}));
const sse = [...EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n'].join('');
const lines = ['delete_all', 'search']
  .map((name) => ({
    model: 'gpt-5',
    message: { tool_calls: [{ function: { name, arguments: {} } }] },
    done: false,
  }))
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');
const [CHAT, OLLAMA] = ['/openai/v1/chat/completions', '/ollama/api/chat'];

describe('a stream', () => {
  test.each<[string, string, Headers, string]>([
    ['of events', CHAT, { [TYPE]: 'text/event-stream' }, sse],
    ['of events as JSON', CHAT, {}, sse],
    ['of events as text', CHAT, { [TYPE]: 'text/plain' }, sse],
    ['of events without a type', CHAT, { [TYPE]: undefined }, sse],
    ['of events with an unknown coding', CHAT, { [TYPE]: 'text/event-stream', [CODING]: 'none' }, sse],
    ['of events that begins with a comment', CHAT, { [TYPE]: 'text/plain' }, `: ping\n\n${sse}`],
    ['of events with carriage returns', CHAT, { [TYPE]: 'text/plain' }, sse.replaceAll('\n', '\r')],
    ['of events with CRLF', CHAT, { [TYPE]: undefined }, sse.replaceAll('\n', '\r\n')],
    ['of events behind a byte order mark', CHAT, { [TYPE]: undefined }, `\uFEFF${sse}`],
    [
      'of events with NaN',
      CHAT,
      { [TYPE]: 'text/event-stream' },
      sse.replaceAll('"choices"', '"x":NaN,"choices"'),
    ],
    ['of lines', OLLAMA, { [TYPE]: 'application/x-ndjson' }, lines],
    ['of lines as JSON', OLLAMA, {}, lines],
    ['of lines as text', OLLAMA, { [TYPE]: 'text/plain' }, lines],
    ['of lines without a type', OLLAMA, { [TYPE]: undefined }, lines],
    ['of lines with NaN', OLLAMA, { [TYPE]: undefined }, lines.replaceAll('"done"', '"x":NaN,"done"')],
  ])('%s is read', async (_what, path, headers, text) => {
    const ask = { model: 'gpt-5', messages: [], stream: true, stream_options: { include_usage: true } };
    for (const chunkBytes of [text.length, 1])
      await eachMode(async (rig, index) => {
        respondWith(rig, headers, utf8(text), chunkBytes);
        const { body } = await post(rig.port, path, ask);
        if (!blocks(index)) expect(body).toBe(text);
        else {
          expect(body).not.toContain('delete_all');
          expect(body).toContain('search');
          expect(body.includes('NaN')).toBe(text.includes('NaN'));
        }
      });
  });

  test.each<[string, Headers, Buffer]>([
    [
      'in two codings',
      { [CODING]: 'gzip, br', [TYPE]: 'text/event-stream' },
      brotliCompressSync(gzipSync(sse)),
    ],
    ['of another form', { [TYPE]: 'audio/mpeg' }, utf8('ID3')],
  ])('%s is denied if the lane fails closed', async (_what, headers, bytes) => {
    await eachMode(async (rig, index) => {
      respondWith(rig, headers, bytes);
      const response = await post(rig.port, CHAT, { model: 'gpt-5', messages: [], stream: true });
      expect(response.status).toBe(isClosed(index) ? 403 : 200);
      if (!isClosed(index)) expect(response.bytes).toEqual(bytes);
    });
  });
});

const SSE = { [TYPE]: 'text/event-stream' };
describe('a coded stream is read', () => {
  test.each<[string, string, Headers, Buffer]>([
    ['in gzip', CHAT, { ...SSE, [CODING]: 'gzip' }, gzipSync(sse)],
    ['in gzip as text', CHAT, { [TYPE]: 'text/plain', [CODING]: 'x-gzip' }, gzipSync(sse)],
    ['in br', CHAT, { ...SSE, [CODING]: 'br' }, brotliCompressSync(sse)],
    ['in zstd', CHAT, { ...SSE, [CODING]: 'identity, zstd' }, zstdCompressSync(sse)],
    ['in deflate', CHAT, { ...SSE, [CODING]: 'deflate' }, deflateSync(sse)],
    ['in raw deflate', CHAT, { ...SSE, [CODING]: 'deflate' }, deflateRawSync(sse)],
    ['of lines in gzip', OLLAMA, { [TYPE]: 'application/x-ndjson', [CODING]: 'gzip' }, gzipSync(lines)],
    ['of lines in gzip as JSON', OLLAMA, { [CODING]: 'gzip' }, gzipSync(lines)],
    [
      'of lines in two codings',
      OLLAMA,
      { [TYPE]: 'text/plain', [CODING]: 'gzip, br' },
      brotliCompressSync(gzipSync(lines)),
    ],
  ])('%s', async (_what, path, headers, bytes) => {
    const ask = { model: 'gpt-5', messages: [], stream: true, stream_options: { include_usage: true } };
    for (const chunkBytes of [bytes.length, 1])
      await eachMode(async (rig, index) => {
        respondWith(rig, headers, bytes, chunkBytes);
        const response = await post(rig.port, path, ask);
        if (response.headers[CODING] !== undefined && !blocks(index)) expect(response.bytes).toEqual(bytes);
        else if (!blocks(index)) expect(response.body).toBe(path === CHAT ? sse : lines);
        else {
          expect(response.headers[CODING] ?? '').not.toMatch(/gzip|br|zstd|deflate/);
          expect(response.body).not.toContain('delete_all');
          expect(response.body).toContain('search');
        }
      });
  });

  test('event by event', async () => {
    const gzip = createGzip();
    const [rig] = rigs;
    if (rig === undefined) throw new Error('no lanes');
    rig.vendor.respond = (_seen, response) => {
      response.writeHead(200, { ...SSE, [CODING]: 'gzip' });
      gzip.pipe(response);
      gzip.write(`data: ${JSON.stringify(EVENTS[1])}\n\n`);
      gzip.flush();
    };
    const first = new Promise<string>((resolve, reject) => {
      const ask = httpRequest({ port: rig.port, path: CHAT, method: 'POST', agent: false }, (response) => {
        response.once('data', (chunk: Buffer) => resolve(chunk.toString()));
        response.resume().on('error', reject);
      });
      ask.on('error', reject).end(JSON.stringify({ model: 'gpt-5', messages: [], stream: true }));
    });
    expect(await first).toContain('search');
    gzip.end();
  });
});

test.each<BufferEncoding>(['utf16le', 'utf8'])('a changed response stays in %s', async (encoding) => {
  const text = JSON.stringify(chat('delete_all', 'search'));
  await eachMode(async (rig) => {
    respondWith(rig, { [TYPE]: 'application/json; charset=x' }, Buffer.from(text, encoding));
    const { bytes } = await post(rig.port, CHAT, { model: 'gpt-5', messages: [] });
    expect(JSON.parse(bytes.toString(encoding))).toMatchObject({ model: 'gpt-5' });
  });
});

test('an event above the size limit is denied if the lane fails closed', async () => {
  const long = `data: [${'1,'.repeat(1.5 * 1024 ** 2)}1]\n\n`;
  await eachMode(async (rig, index) => {
    respondWith(rig, SSE, utf8(long));
    const { body } = await post(rig.port, CHAT, { model: 'gpt-5', messages: [], stream: true });
    if (isClosed(index)) expect(body).toMatch(/^\s*data: .*body_unread/);
    else expect(body).toBe(long);
  });
});

test('the numbers NaN and Infinity stay in the allowed call next to a removed one', async () => {
  const call = (name: string): string =>
    `{"function":{"name":"${name}","arguments":{"x":[NaN,-Infinity,"NaN"]}}}`;
  const text = `{"model":"gpt-5","done":true,"message":{"tool_calls":[${call('delete_all')},${call('search')}]}}`;
  await eachMode(async (rig, index) => {
    respondWith(rig, {}, utf8(text));
    const { body } = await post(rig.port, OLLAMA, { model: 'gpt-5', messages: [], stream: false });
    expect(body).toContain(call('search'));
    expect(body.includes('delete_all')).toBe(!blocks(index));
  });
});

describe('a number that JSON cannot have is not a valid argument:', () => {
  test.each(['NaN', 'Infinity', '1e400'])('%s', async (number) => {
    const text = `{"model":"gpt-5","done":true,"message":{"tool_calls":[{"function":{"name":"pay","arguments":{"amount":${number}}}}]}}`;
    await eachMode(async (rig, index) => {
      respondWith(rig, {}, utf8(text));
      const response = await post(rig.port, OLLAMA, { model: 'gpt-5', messages: [], stream: false });
      expect(violationsOf(response)).toBe('tool_arguments_invalid');
      expect(response.body.includes('"pay"')).toBe(!blocks(index));
    });
  });
});

describe('a request to an MCP server', () => {
  const MCP = '/mcp/files';
  const call = (args: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":${args}}}`;

  test.each<Form>([
    ['with NaN', {}, () => utf8(call('{"x":NaN}'))],
    ['in UTF-16', {}, () => utf16(call('{}'))],
    ['that is not JSON', {}, () => utf8('name=read')],
    ['that is cut', {}, () => utf8(call('{}').slice(0, -1))],
    ['followed by something', {}, () => utf8(`${call('{}')}{}`)],
    ['with a method in another case', {}, () => utf8(call('{}').replace('method', 'Method'))],
    ['with two methods', {}, () => utf8(call('{}').replace('{', '{"METHOD":"ping",'))],
    ['with a folded letter', {}, () => utf8(call('{}').replace('params', 'param\u017F'))],
    [
      'with a NUL in a name',
      {},
      () => utf8(call('{}').replace('"name"', String.raw`"name\u0000":"x","name"`)),
    ],
    ['with two tools', {}, () => utf8(call('{},"Name":"delete_all"'))],
  ])('%s is refused, whatever the fail mode is', async (_what, headers, encode) => {
    const body = encode('');
    await eachMode(async (rig, index) => {
      const response = await post(rig.port, MCP, body, headers);
      expect(rig.vendor.requests.map(({ bytes }) => bytes)).toEqual(blocks(index) ? [] : [body]);
      expect(response.status).toBe(blocks(index) ? 400 : 200);
      expect(violationsOf(response)).toBe(blocks(index) ? 'body_unread' : undefined);
      if (blocks(index))
        expect(JSON.parse(response.body)).toMatchObject({ jsonrpc: '2.0', error: { code: -32_700 } });
    });
  });

  test.each<Form>([
    ['as a form', { [TYPE]: 'application/x-www-form-urlencoded' }, utf8],
    ['without a type', { [TYPE]: undefined }, utf8],
    ['in gzip', { [CODING]: 'gzip' }, gzipSync],
  ])('%s is read', async (_what, headers, encode) => {
    const forbidden = call('{}').replace('"id":1', '"id":7');
    await eachMode(async (rig) => {
      const other = encode(forbidden);
      await post(rig.port, MCP, other, headers);
      await until(() => rig.egress.log.newest(1)[0]?.toolsCalled[0] === 'read', 'the call in the log');
      expect(rig.vendor.requests.at(-1)?.bytes).toEqual(other);
    });
  });

  test.each(['[1]', '7'])('without a message (%s) is denied if the lane fails closed', async (body) => {
    await eachMode(async (rig, index) => {
      expect((await post(rig.port, MCP, body)).status).toBe(isClosed(index) ? 400 : 200);
    });
  });

  test('without a body, but with chunks, passes', async () => {
    await eachMode(async (rig) => {
      const head = `DELETE ${MCP} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`;
      respondWith(rig, { [TYPE]: 'text/plain' }, utf8('closed'));
      expect(await askRaw(rig.port, `${head}0\r\n\r\n`, 'closed')).toMatch(/^HTTP\/1\.1 200 /);
    });
  });

  test.each<[string, Headers, string]>([
    ['with NaN', {}, '{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}'],
    ['as text', { [TYPE]: 'text/plain' }, '{"jsonrpc":"2.0","id":1,"result":{}}'],
    [
      'in an event with NaN',
      { [TYPE]: 'text/event-stream' },
      'data: {"jsonrpc":"2.0","id":1,"result":{"x":NaN}}\n\n',
    ],
  ])('has a response %s, which is read', async (_what, headers, text) => {
    await eachMode(async (rig) => {
      respondWith(rig, headers, utf8(text));
      expect((await post(rig.port, MCP, call('{}'))).body).toBe(text);
      await until(() => rig.egress.log.newest(1)[0]?.toolsExecuted[0] === 'read', 'the tool in the log');
    });
  });
});
