import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { afterEach, expect, test } from '@jest/globals';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { currentRequestId, followRequests, requestIdOf } from './current-request.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<{ server: Server; port: number }> {
  followRequests();
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

const post = (id: string): string =>
  `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n${id && `X-Request-Id: ${id}\r\n`}\r\n`;

/** Sends the texts on one connection, and closes the connection after `count` responses. */
async function exchange(port: number, count: number, ...texts: string[]): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  const isComplete = new Promise<void>((resolve) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (received.split('HTTP/1.1 ').length > count) resolve();
    });
  });
  for (const text of texts) {
    socket.write(text);
    await turn();
  }
  await isComplete;
  socket.destroy();
}

test('every listener of a request runs in its async context, also on a keep-alive connection', async () => {
  const log: string[] = [];
  let closed = 0;
  const { port } = await serve((request, response) => {
    const note = (step: string): number => log.push(`${requestIdOf(request)} ${step} ${currentRequestId()}`);
    note('start');
    request.on('data', () => note('data')).on('end', () => setImmediate(() => (note('end'), response.end())));
    response
      .on('finish', () => note('finish'))
      .on('close', () => (note('close'), (closed += 1)))
      .on('close', () => void turn().then(() => note('later')));
  });
  await exchange(port, 5, post('a'), '{}', `${post('b')}{}`, post(''), '{}', `${post('c')}{}${post('d')}{}`);
  while (closed < 5) await turn();
  await turn();
  const steps = ['close', 'data', 'end', 'finish', 'later', 'start'];
  const expected = ['a', 'b', 'c', 'd', 'null'].flatMap((id) => steps.map((step) => `${id} ${step} ${id}`));
  expect(log.toSorted()).toEqual(expected);
});

const FRAMEWORKS: readonly [string, () => Promise<RequestListener>][] = [
  [
    'Express',
    () => {
      const app = express();
      app.post('/', express.json(), (_request, response, next) => {
        void idsOf().then((ids) => response.json(ids), next);
      });
      return Promise.resolve(app);
    },
  ],
  [
    'Fastify',
    async () => {
      const app = fastify();
      app.post('/', idsOf);
      await app.ready();
      return (request, response) => {
        app.routing(request, response);
      };
    },
  ],
  [
    'Hono',
    () => {
      const app = new Hono();
      app.post('/', async (context) => {
        await context.req.json();
        return context.json(await idsOf());
      });
      const listen = getRequestListener(app.fetch);
      return Promise.resolve((request, response) => void listen(request, response));
    },
  ],
];

async function idsOf(): Promise<(string | null)[]> {
  const first = currentRequestId();
  await sleep(1);
  await Promise.all([turn(), turn()]);
  return [first, currentRequestId()];
}

test.each(FRAMEWORKS)(
  'in %s each of fifty concurrent requests keeps its id after the body parser',
  async (_name, start) => {
    const { port } = await serve(await start());
    const ids = Array.from({ length: 50 }, (_, id) => `r${id}`);
    const results = await Promise.all(
      ids.map(async (id) => {
        const headers = { 'x-request-id': id, 'content-type': 'application/json' };
        const response = await fetch(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          headers,
          body: '{"a":1}',
        });
        return response.json();
      }),
    );
    expect(results).toEqual(ids.map((id) => [id, id]));
  },
);

test('work has no request id if its request closed more than one minute ago', async () => {
  let worker = (_nowMs: number): string | null => null;
  let isClosed = false;
  const { port } = await serve((_request, response) => {
    // Like a worker that the request starts: it keeps the context of this request.
    const { promise, resolve } = Promise.withResolvers<number>();
    let result: string | null = 'none yet';
    void promise.then((nowMs) => (result = currentRequestId(nowMs)));
    worker = (nowMs) => (resolve(nowMs), result);
    response.on('close', () => (isClosed = true)).end();
  });
  const idAfter = async (ms: number): Promise<string | null> => {
    isClosed = false;
    await exchange(port, 1, `${post('a')}{}`);
    while (!isClosed) await turn();
    const nowMs = performance.now() + ms;
    worker(nowMs);
    await turn();
    return worker(nowMs);
  };
  expect([await idAfter(0), await idAfter(50_000), await idAfter(60_001)]).toEqual(['a', 'a', null]);
});

test('there is no request id outside of a request or on an upgraded connection', async () => {
  const { server, port } = await serve((_request, response) => response.end());
  let upgraded: string | null = 'none yet';
  server.on('upgrade', (_request: IncomingMessage, socket) => {
    upgraded = currentRequestId();
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  const head =
    'GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  await exchange(port, 2, `${post('a')}{}`, head);
  expect([currentRequestId(), upgraded]).toEqual([null, null]);
});

test.each([
  ['an id', { 'x-request-id': 'a' }, 'a'],
  ['the longest id', { 'x-request-id': 'a'.repeat(128) }, 'a'.repeat(128)],
  ['an id that is longer than the sidecar allows', { 'x-request-id': 'a'.repeat(129) }, null],
  ['an empty id', { 'x-request-id': '' }, null],
  ['no id', {}, null],
])('requestIdOf a request with %s', (_name, headers, id) => {
  expect([requestIdOf({ headers }), requestIdOf({ headers: new Headers(headers) })]).toEqual([id, id]);
});
