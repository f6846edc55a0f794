import { request, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createApp, jsonBody } from './http-app.ts';
import { listen, type Listener } from './http-listener.ts';
import { withShortcut } from './json-shortcut.ts';
import { silentLogger, type Logger } from './logger.ts';
import { Problem } from './problem.ts';

const LIMIT = 200;
const logged: unknown[] = [];
const logger: Logger = { ...silentLogger, error: (...line) => void logged.push(line) };
/** Number of requests that used the shortcut, and of those that have ended. */
let [begun, ended] = [0, 0];
let long: Listener;
let short: Listener;

function respond(body: unknown, response: ServerResponse): void {
  if (body === 'taken')
    throw new Problem(409, 'the name is in use', { extra: { a: 1 }, headers: { 'retry-after': '2' } });
  if (body === 'bug') throw new Error('the password is hunter2');
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(JSON.stringify({ body }));
}

beforeAll(async () => {
  const handlers = [
    jsonBody(LIMIT),
    (from: { body?: unknown }, response: ServerResponse) => respond(from.body, response),
  ];
  const app = createApp({
    logger,
    routes: [{ method: 'POST', path: '/ask', access: 'open', summary: '', handlers }],
  });
  const begin = (_request: unknown, response: ServerResponse): void => {
    begun += 1;
    response.once('close', () => (ended += 1));
  };
  const handler = withShortcut(app, { path: '/ask', limit: LIMIT, logger, begin, respond });
  [long, short] = await Promise.all([
    listen({ handler: app, port: 0, host: '127.0.0.1' }),
    listen({ handler, port: 0, host: '127.0.0.1' }),
  ]);
});

afterAll(() => Promise.all([long.close(0), short.close(0)]));

beforeEach(() => {
  [begun, ended, logged.length] = [0, 0, 0];
});

interface Sent {
  method?: string;
  path?: string;
  headers?: OutgoingHttpHeaders;
  /** Pieces that are written separately. */
  body?: readonly (string | Buffer)[];
}

interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

function send(
  listener: Listener,
  { method = 'POST', path = '/ask', headers, body = [] }: Sent,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const length = body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    const chunked = headers?.['transfer-encoding'] !== undefined;
    const sent = request({
      ...{ host: '127.0.0.1', port: listener.port, method, path, agent: false },
      headers: { ...JSON_TYPE, ...(!chunked && { 'content-length': length }), ...headers },
    });
    sent.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const { date: _date, ...others } = response.headers;
        resolve({ status: response.statusCode ?? 0, headers: others, body: text });
      });
    });
    for (const piece of body) sent.write(piece);
    sent.end();
  });
}

const whole = '{"a":["ä",1]}';
const full = JSON.stringify('x'.repeat(LIMIT - 2));

test.each<[string, 'short' | 'long', number, Sent]>([
  ['JSON', 'short', 200, { body: [whole] }],
  ['JSON with a query string', 'short', 200, { path: '/ask?timeout=5s', body: [whole] }],
  ['JSON in pieces', 'short', 200, { body: ['{"a":["', Buffer.from([0xc3]), Buffer.from([0xa4]), '",1]}'] }],
  ['JSON of the maximum size', 'short', 200, { body: [full] }],
  ['a byte order mark', 'short', 200, { body: [`\uFEFF${whole}`] }],
  ['invalid UTF-8', 'short', 200, { body: ['"', Buffer.from([0xff, 0xc3]), '"'] }],
  ['invalid JSON', 'short', 400, { body: ['{'] }],
  ['blanks', 'short', 400, { body: ['  '] }],
  ['a body that the handler rejects with a Problem', 'short', 409, { body: ['"taken"'] }],
  ['a body that makes the handler throw', 'short', 500, { body: ['"bug"'] }],
  ['JSON above the maximum size', 'long', 413, { body: [full, ' '] }],
  ['an empty body', 'long', 200, { body: [] }],
  ['JSON in chunks', 'long', 200, { headers: { 'transfer-encoding': 'chunked' }, body: [whole] }],
  ['gzip', 'long', 200, { headers: { 'content-encoding': 'gzip' }, body: [gzipSync(whole)] }],
  [
    'plain JSON with Content-Encoding gzip',
    'long',
    400,
    { headers: { 'content-encoding': 'gzip' }, body: [whole] },
  ],
  [
    'a named charset',
    'long',
    200,
    { headers: { 'content-type': 'application/json; charset=utf-8' }, body: [whole] },
  ],
  [
    'an unknown charset',
    'long',
    415,
    { headers: { 'content-type': 'application/json; charset=x' }, body: [whole] },
  ],
  ['another type', 'long', 415, { headers: { 'content-type': 'text/plain' }, body: [whole] }],
  ['another method', 'long', 405, { method: 'PUT', body: [whole] }],
  ['a longer path', 'long', 404, { path: '/asks', body: [whole] }],
  ['a path in capitals', 'long', 200, { path: '/ASK', body: [whole] }],
  ['a trailing slash', 'long', 200, { path: '/ask/', body: [whole] }],
])(
  '%s takes the %s path and gets the same response (%i) as without a shortcut',
  async (_what, path, status, sent) => {
    const without = await send(long, sent);
    const loggedWithout = logged.splice(0);
    expect(await send(short, sent)).toEqual(without);
    expect(logged).toEqual(loggedWithout);
    expect([without.status, begun]).toEqual([status, path === 'short' ? 1 : 0]);
  },
);

test('serves the next request after a truncated body', async () => {
  const sent = request({
    ...{ host: '127.0.0.1', port: short.port, method: 'POST', path: '/ask', agent: false },
    headers: { ...JSON_TYPE, 'content-length': 100 },
  });
  sent.on('error', () => undefined).write('{"a":');
  while (begun === 0) await new Promise(setImmediate);
  sent.destroy();
  while (ended === 0) await new Promise(setImmediate);
  expect((await send(short, { body: [whole] })).status).toBe(200);
  expect([begun, logged]).toEqual([2, []]);
});
