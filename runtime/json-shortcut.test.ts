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
/** Requests that took the shortcut, and those of them that are over. */
let [begun, ended] = [0, 0];
let long: Listener;
let short: Listener;

function answer(body: unknown, response: ServerResponse): void {
  if (body === 'taken')
    throw new Problem(409, 'it is taken', { extra: { a: 1 }, headers: { 'retry-after': '2' } });
  if (body === 'bug') throw new Error('the password is hunter2');
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(JSON.stringify({ body }));
}

beforeAll(async () => {
  const handlers = [
    jsonBody(LIMIT),
    (from: { body?: unknown }, response: ServerResponse) => answer(from.body, response),
  ];
  const app = createApp({ logger, routes: [{ method: 'POST', path: '/ask', summary: '', handlers }] });
  const begin = (_request: unknown, response: ServerResponse): void => {
    begun += 1;
    response.once('close', () => (ended += 1));
  };
  const handler = withShortcut(app, { path: '/ask', limit: LIMIT, logger, begin, answer });
  [long, short] = await Promise.all([
    listen({ handler: app, port: 0, host: '127.0.0.1' }),
    listen({ handler, port: 0, host: '127.0.0.1' }),
  ]);
});

afterAll(() => Promise.all([long.close(0), short.close(0)]));

beforeEach(() => {
  [begun, ended, logged.length] = [0, 0, 0];
});

interface Asked {
  method?: string;
  path?: string;
  headers?: OutgoingHttpHeaders;
  /** The pieces that are written one by one. */
  body?: readonly (string | Buffer)[];
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

function ask(
  listener: Listener,
  { method = 'POST', path = '/ask', headers, body = [] }: Asked,
): Promise<Answer> {
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

test.each<[string, 'short' | 'long', number, Asked]>([
  ['JSON', 'short', 200, { body: [whole] }],
  ['JSON behind a query', 'short', 200, { path: '/ask?timeout=5s', body: [whole] }],
  ['JSON in pieces', 'short', 200, { body: ['{"a":["', Buffer.from([0xc3]), Buffer.from([0xa4]), '",1]}'] }],
  ['JSON as long as may be', 'short', 200, { body: [full] }],
  ['a byte order mark', 'short', 200, { body: [`\uFEFF${whole}`] }],
  ['bytes that are no UTF-8', 'short', 200, { body: ['"', Buffer.from([0xff, 0xc3]), '"'] }],
  ['no JSON', 'short', 400, { body: ['{'] }],
  ['blanks', 'short', 400, { body: ['  '] }],
  ['what is refused by a Problem', 'short', 409, { body: ['"taken"'] }],
  ['what meets a bug', 'short', 500, { body: ['"bug"'] }],
  ['JSON that is longer', 'long', 413, { body: [full, ' '] }],
  ['nothing', 'long', 200, { body: [] }],
  ['JSON in chunks', 'long', 200, { headers: { 'transfer-encoding': 'chunked' }, body: [whole] }],
  ['gzip', 'long', 200, { headers: { 'content-encoding': 'gzip' }, body: [gzipSync(whole)] }],
  ['no gzip that says so', 'long', 400, { headers: { 'content-encoding': 'gzip' }, body: [whole] }],
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
  ['a slash behind the path', 'long', 200, { path: '/ask/', body: [whole] }],
])('%s goes the %s way and is answered %i as without a shortcut', async (_what, way, status, asked) => {
  const without = await ask(long, asked);
  const loggedWithout = logged.splice(0);
  expect(await ask(short, asked)).toEqual(without);
  expect(logged).toEqual(loggedWithout);
  expect([without.status, begun]).toEqual([status, way === 'short' ? 1 : 0]);
});

test('a body that is cut ends its request, and the next one is answered', async () => {
  const sent = request({
    ...{ host: '127.0.0.1', port: short.port, method: 'POST', path: '/ask', agent: false },
    headers: { ...JSON_TYPE, 'content-length': 100 },
  });
  sent.on('error', () => undefined).write('{"a":');
  while (begun === 0) await new Promise(setImmediate);
  sent.destroy();
  while (ended === 0) await new Promise(setImmediate);
  expect((await ask(short, { body: [whole] })).status).toBe(200);
  expect([begun, logged]).toEqual([2, []]);
});
