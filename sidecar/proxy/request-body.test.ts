import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { collectGarbage } from '../../testing/http/held-bytes.ts';
import { askRaw, completedEntry, startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import type { UpstreamRequest } from './upstream.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

/** Responds with the method and the body of the request. */
const echo: RequestListener = (request, response) => {
  void buffer(request).then((body) => response.end(`<${request.method} ${String(body)}>`));
};

/** Starts a proxy. Returns how each body was sent to the agent: `whole`, as a `stream`, or not at all. */
async function startWatched(agent: RequestListener): Promise<string[]> {
  const sent: string[] = [];
  const onSend = ({ body }: UpstreamRequest): void =>
    void sent.push(body === null ? 'none' : Buffer.isBuffer(body) ? `whole ${body.length}` : 'stream');
  rig = await startRig(agent, { onSend });
  return sent;
}

const post = (body: string, ...fields: string[]): string =>
  ['POST /a HTTP/1.1', 'Host: a', `Content-Length: ${body.length}`, ...fields, '', body].join('\r\n');
const CLOSE = 'Connection: close';

describe('a body that arrives with its head is sent as a whole', () => {
  test.each([
    ['short', 11],
    ['longer than what is stored of a stream', 40_000],
  ])('%s', async (_title, bytes) => {
    const sent = await startWatched(echo);
    const body = 'b'.repeat(bytes);
    expect(await askRaw(rig.port, post(body, CLOSE))).toContain(`<POST ${body}>`);
    expect(sent).toEqual([`whole ${bytes}`]);
    expect(await completedEntry(rig)).toMatchObject({ bytesIn: bytes, statusCode: 200 });
  });

  test('with an expectation of 100 Continue', async () => {
    const sent = await startWatched(echo);
    const response = await askRaw(rig.port, post('hello', 'Expect: 100-continue', CLOSE));
    expect(response).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    expect(response).toContain('<POST hello>');
    expect(sent).toEqual(['whole 5']);
  });

  test('in a pipeline, where responses keep their order', async () => {
    const sent = await startWatched(echo);
    const get = 'GET /b HTTP/1.1\r\nHost: a\r\n\r\n';
    const response = await askRaw(rig.port, post('one') + get + post('two') + post('three', CLOSE));
    expect(response.match(/<[^>]*>/g)).toEqual(['<POST one>', '<GET >', '<POST two>', '<POST three>']);
    expect(sent).toEqual(['whole 3', 'none', 'whole 3', 'whole 5']);
    expect(rig.audit.ring.newest().map(({ bytesIn }) => bytesIn)).toEqual([3, 0, 3, 5]);
  });

  test('and its request ends, so that the connection is kept', async () => {
    const ended: IncomingMessage[] = [];
    const watch = (message: unknown): void => {
      const { request, server } = message as { request: IncomingMessage; server: unknown };
      if (server !== rig.agent) request.once('end', () => ended.push(request));
    };
    await startWatched(echo);
    subscribe('http.server.request.start', watch);
    const socket = connect(rig.port, '127.0.0.1').setEncoding('latin1');
    for (const [index, body] of ['one', 'x'.repeat(30_000), 'three'].entries()) {
      // Not a plain request, so Node.js reads this connection.
      socket.write(index === 0 ? post(body, 'TE: trailers') : post(body));
      let response = '';
      while (!response.includes(`<POST ${body}>`)) response += String((await once(socket, 'data'))[0]);
    }
    await until(() => ended.length === 3, 'the end of each request');
    unsubscribe('http.server.request.start', watch);
    expect(ended.map(({ complete, aborted }) => ({ complete, aborted }))).toEqual(
      Array(3).fill({ complete: true, aborted: false }),
    );
    expect(new Set(ended.map((request) => request.socket)).size).toBe(1);
    socket.destroy();
  });

  test.each([
    ['a plain request', 11, []],
    ['a request that Node.js reads', 11, ['TE: trailers']],
    ['a long request', 40_000, []],
  ])('and is not kept during the response to %s', async (_title, bytes, fields) => {
    const bodies: WeakRef<Buffer>[] = [];
    const responses: ServerResponse[] = [];
    rig = await startRig((_request, response) => void responses.push(response), {
      onSend: ({ body }) => Buffer.isBuffer(body) && bodies.push(new WeakRef(body)),
    });
    const socket = connect(rig.port, '127.0.0.1').setEncoding('latin1');
    socket.write(post('b'.repeat(bytes), ...fields));
    await until(() => responses.length === 1, 'the request');
    expect(bodies).toHaveLength(1);
    const isFree = (): boolean => {
      collectGarbage();
      return bodies[0]?.deref() === undefined;
    };
    await until(isFree, 'the release of the body');
    responses[0]?.end('answer');
    expect(String((await once(socket, 'data'))[0])).toContain('answer');
    socket.destroy();
  });

  test('and the agent notices when the client disconnects', async () => {
    let hasClosed = false;
    const sent = await startWatched((_request, response) => response.on('close', () => (hasClosed = true)));
    const socket = connect(rig.port, '127.0.0.1');
    socket.write(post('hello'));
    await until(() => sent.length === 1, 'the request');
    socket.destroy();
    await until(() => hasClosed, 'the end of the request to the agent');
    expect(await completedEntry(rig)).toMatchObject({ aborted: true, bytesIn: 5 });
  });
});

describe('a body is sent as a stream', () => {
  test('if a part of it arrives later', async () => {
    const sent = await startWatched(echo);
    const socket = connect(rig.port, '127.0.0.1').setEncoding('latin1');
    const request = post('hello world', CLOSE);
    socket.write(request.slice(0, -6));
    await until(() => sent.length === 1, 'the head');
    socket.write(request.slice(-6));
    let response = '';
    socket.on('data', (text) => (response += String(text)));
    await once(socket, 'close');
    expect(response).toContain('<POST hello world>');
    expect(sent).toEqual(['stream']);
    expect(await completedEntry(rig)).toMatchObject({ bytesIn: 11 });
  });

  test('if its length is not announced, because trailers may follow', async () => {
    const trailers: unknown[] = [];
    const sent = await startWatched((request, response) => {
      void buffer(request).then((body) => {
        trailers.push(request.trailers['x-sum']);
        response.end(body);
      });
    });
    const head = ['POST /a HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked', 'Trailer: X-Sum', CLOSE];
    const response = await askRaw(
      rig.port,
      [...head, '', '5', 'hello', '0', 'X-Sum: 9', '', ''].join('\r\n'),
    );
    expect(response).toContain('hello');
    expect(sent).toEqual(['stream']);
    expect(trailers).toEqual(['9']);
  });
});
