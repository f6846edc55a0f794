import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/time/moment.ts';
import { startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

/** The headers that Java's HttpClient sends by default with each request to an `http:` address. */
const h2c = (line: string, more = ''): string =>
  `${line} HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nHost: a\r\n` +
  'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nUpgrade: h2c\r\n' +
  `User-Agent: Java-http-client/17.0.15\r\n${more}\r\n`;
const GET = 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n';

interface Seen {
  line: string;
  names: string[];
  body: string;
}

let rig: ProxyRig;
let seen: Seen[];
beforeEach(async () => {
  seen = [];
  rig = await startRig((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      seen.push({ line: `${request.method} ${request.url}`, names: Object.keys(request.headers), body });
      response.end(`<${request.url}>`);
    });
  });
  (rig.agent as Server).on('upgrade', (request, socket: Socket) => {
    seen.push({ line: `upgrade ${request.url}`, names: [], body: '' });
    socket.destroy();
  });
});
afterEach(async () => {
  await rig.close();
});

/** Sends each part and then waits for `responses` responses in total. Returns the bodies of all responses. */
async function send(...parts: readonly [bytes: string, responses: number][]): Promise<string[]> {
  let text = '';
  const socket = connect(rig.port, '127.0.0.1').setEncoding('latin1').setNoDelay();
  socket.on('data', (chunk: string) => (text += chunk)).on('error', () => undefined);
  const bodies = (): string[] => [...text.matchAll(/<[^>]*>/g)].map(([body]) => body);
  const { outcomes } = rig.audit;
  const before = outcomes.notEvaluated;
  for (const [bytes, responses] of parts) {
    socket.write(bytes, 'latin1');
    await until(() => bodies().length >= responses, `${responses} responses`);
    await until(() => outcomes.notEvaluated >= before + responses, 'the end of the exchanges');
    // The proxy must read this part before the next part is sent.
    if (responses === 0) await aMoment();
  }
  socket.destroy();
  return bodies();
}

describe('a request that offers h2c is served as HTTP/1.1', () => {
  test('without its hop-by-hop headers', async () => {
    await send([h2c('GET /a?b=1'), 1]);
    const [{ line, names } = { line: '', names: [] }] = seen;
    expect(line).toBe('GET /a?b=1');
    expect(names).toContain('user-agent');
    expect(names.filter((name) => /upgrade|http2/.test(name))).toEqual([]);
    expect(rig.audit.ring.newest()).toMatchObject([{ method: 'GET', path: '/a', statusCode: 200 }]);
  });

  test.each([
    ['with a length', h2c('POST /first', 'Content-Length: 5\r\n') + 'hello'],
    ['in chunks', h2c('POST /first', 'Transfer-Encoding: chunked\r\n') + '5\r\nhello\r\n0\r\n\r\n'],
  ])('with its body %s, in any segmentation, and with the next request', async (_title, bytes) => {
    const wire = bytes + GET;
    for (const at of [wire.length, 1, bytes.length - 8, bytes.length, bytes.length + 10])
      expect(await send([wire.slice(0, at), 0], [wire.slice(at), 2])).toEqual(['</first>', '</next>']);
    expect(new Set(seen.map(({ line, body }) => line + body))).toEqual(
      new Set(['POST /firsthello', 'GET /next']),
    );
  });

  test('and parsing never continues in the middle of the next request', async () => {
    const inner = 'GET /inner HTTP/1.1\r\nHost: a\r\n\r\n';
    const next = `POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: ${inner.length}\r\n\r\n`;
    expect(await send([h2c('GET /first') + next, 1], [inner, 2])).toEqual(['</first>', '</next>']);
    expect(seen).toMatchObject([{ line: 'GET /first' }, { line: 'POST /next', body: inner }]);
  });

  test('repeatedly on one connection without accumulating listeners', async () => {
    const counts: number[] = [];
    const count = (message: unknown): void => {
      const { server, socket } = message as { server: Server; socket: Socket };
      if (server === rig.agent) return;
      counts.push(socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0));
    };
    subscribe('http.server.request.start', count);
    const parts = Array.from({ length: 30 }, (_, i): [string, number] => [h2c(`GET /${i}`), i + 1]);
    expect(await send(...parts)).toHaveLength(30);
    unsubscribe('http.server.request.start', count);
    expect(counts).toHaveLength(30);
    expect(counts[29]).toBe(counts[1]);
  });
});
