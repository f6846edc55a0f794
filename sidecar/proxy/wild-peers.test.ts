import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { eachRequest } from '../../testing/http/each-request.ts';
import { aMoment } from '../../testing/time/moment.ts';
import {
  askRaw,
  completedEntry,
  startRawRig,
  startRig,
  type ProxyRig,
} from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

const GET = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const CHUNKED = GET.replace('GET', 'POST').replace(
  '\r\n\r\n',
  '\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
);

/** Starts a raw client. `text` returns everything it has received. */
function startClient(): { socket: Socket; text: () => string } {
  let text = '';
  const socket = connect(rig.port, '127.0.0.1');
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  return { socket, text: () => text };
}

/** Starts an agent that responds to every request with the same bytes. */
async function startSending(bytes: string): Promise<void> {
  rig = await startRawRig((socket) => {
    eachRequest(socket, () => socket.end(bytes, 'latin1'));
  });
}

describe('early hints that cannot be passed on are dropped', () => {
  test.each([
    ['for a chunked request', CHUNKED, 'Link: nowhere'],
    ['for any other request', GET, 'Link: nowhere'],
    ['with a name that is a property of every object', GET, 'Link: </a.css>; rel=preload\r\nconstructor: x'],
  ])('%s', async (_title, request, header) => {
    await startSending(
      `HTTP/1.1 103 Early Hints\r\n${header}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
    );
    const text = await askRaw(rig.port, request);
    expect(text).toMatch(/HTTP\/1.1 200 OK\r\n[^]*\r\n\r\nok$/);
    expect(text).not.toContain('native code');
  });
});

test('early hints are dropped while the client does not read, and its response still arrives', async () => {
  const hint = `HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-More: ${'x'.repeat(8000)}\r\n\r\n`;
  // More than the buffers of the kernel.
  const hints = 4000;
  const clients: Socket[] = [];
  const onSocket = (message: unknown): void => void clients.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', onSocket);
  let isSent = false;
  rig = await startRawRig((socket) => {
    eachRequest(socket, () => {
      let left = hints;
      const send = (): void => {
        while (left > 0) {
          left -= 1;
          if (socket.write(hint)) continue;
          socket.once('drain', send);
          return;
        }
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', () => (isSent = true));
      };
      send();
    });
  });
  const { socket, text } = startClient();
  socket.pause();
  socket.write(GET);
  await until(() => isSent, 'the end of the response');
  await aMoment();
  unsubscribe('net.server.socket', onSocket);
  const held = clients.map(({ writableLength }) => writableLength);
  expect(Math.max(...held)).toBeLessThan(1024 * 1024);
  socket.resume();
  await once(socket, 'close');
  expect(text()).toMatch(/HTTP\/1.1 200 OK\r\n[^]*\r\n\r\nok$/);
});

describe('a response that announces trailers but cannot have trailers', () => {
  test.each([
    [
      'because it has a length',
      GET,
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nContent-Length: 2\r\n\r\nok',
      'ok',
    ],
    [
      'because it goes to HTTP/1.0',
      'GET / HTTP/1.0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n',
      'ok',
    ],
    [
      'because it responds to HEAD',
      GET.replace('GET', 'HEAD'),
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n',
      '',
    ],
    [
      'because of its status 204',
      GET,
      'HTTP/1.1 204 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n',
      '',
    ],
    ['because of its status 304', GET, 'HTTP/1.1 304 OK\r\nTrailer: X-Sum\r\n\r\n', ''],
  ])('is passed on without the announcement, %s', async (_title, request, response, body) => {
    await startSending(response);
    const text = await askRaw(rig.port, request);
    expect(text.split('\r\n', 1)).toEqual([response.split('\r\n', 1)[0]]);
    expect(text).not.toContain('Trailer');
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(body);
  });
});

describe('passes on a response with thousands of header lines completely', () => {
  test.each([
    ['for a chunked request', CHUNKED],
    ['for any other request', GET],
    ['for an upgrade', GET.replace('close', 'Upgrade\r\nUpgrade: websocket')],
  ])('%s', async (_title, request) => {
    await startSending(
      `HTTP/1.1 200 OK\r\n${'a:b\r\n'.repeat(2_500)}X-Last: 1\r\nContent-Length: 2\r\n\r\nok`,
    );
    const text = await askRaw(rig.port, request);
    expect(text).toContain('\r\nX-Last: 1\r\n');
    expect(text.match(/^a: b\r$/gm)).toHaveLength(2_500);
  });
});

test('a response in place of the agent has its own reason phrase, and no body for HEAD', async () => {
  await startSending('HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n');
  const text = await askRaw(rig.port, GET.replace('GET', 'HEAD'));
  expect(text).toMatch(/^HTTP\/1.1 502 Bad Gateway\r\n/);
  expect(await completedEntry(rig)).toMatchObject({ method: 'HEAD', statusCode: 502, bytesOut: 0 });
});

describe('bytes that are not HTTP', () => {
  test('after a complete request get 400 after the response to that request', async () => {
    let respond: (() => void) | undefined;
    rig = await startRig((_request, response) => {
      respond = () => response.end('a response');
    });
    const { socket, text } = startClient();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => respond !== undefined, 'the request at the agent');
    socket.write('\0\0\r\n\r\n');
    socket.write('\0\0\r\n\r\n');
    await aMoment();
    respond?.();
    await once(socket, 'close');
    expect(text()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\na responseHTTP\/1.1 400 Bad Request\r\n/);
    expect(text().match(/HTTP.1.1 \d/g)).toHaveLength(2);
    expect(await completedEntry(rig)).toMatchObject({ statusCode: 200, bytesOut: 10 });
    expect(rig.audit.ring.newest()[0]).not.toHaveProperty('aborted');
  });

  test('after pipelined requests do not corrupt the response that is being sent', async () => {
    let finish: () => void = () => undefined;
    rig = await startRig((request, response) => {
      if (request.url === '/2') return void response.end('second');
      response.writeHead(200, { 'content-length': 8 }).write('half');
      finish = () => response.end('half');
    });
    const { socket, text } = startClient();
    socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => text().endsWith('half'));
    socket.write('\0\0\r\n\r\n');
    await aMoment();
    finish();
    await once(socket, 'close');
    const bodies = text()
      .split(/HTTP\/1.1 /)
      .map((response) => response.slice(0, 3) + response.slice(response.indexOf('\r\n\r\n') + 4));
    expect(bodies).toEqual(['', '200halfhalf', '200second', expect.stringMatching(/^400/)]);
  });

  test('in a body end the request with 400, also at the agent', async () => {
    let hasArrived = false;
    let isAborted = false;
    rig = await startRig((request) => {
      request.on('data', () => (hasArrived = true)).on('error', () => (isAborted = true));
    });
    const { socket, text } = startClient();
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
    await until(() => hasArrived, 'the first chunk');
    socket.write('zz\r\n');
    await once(socket, 'close');
    await until(() => isAborted, 'the end of the agent’s request');
    expect(text()).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    const bytesOut = text().split('\r\n\r\n')[1]?.length;
    expect(await completedEntry(rig)).toMatchObject({ statusCode: 400, bytesOut });
    expect(rig.audit.ring.newest()[0]).not.toHaveProperty('aborted');
  });
});

test('a client that pipelines endlessly accumulates no listeners on its connection', async () => {
  rig = await startRig((_request, response) => response.end('x'));
  let connection: Socket | undefined;
  const watch = (message: unknown): void => {
    const { server, socket } = message as { server: Server; socket: Socket };
    if (server !== rig.agent) connection = socket;
  };
  subscribe('http.server.request.start', watch);
  const { socket, text } = startClient();
  const pipeline = async (total: number): Promise<number | undefined> => {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    await until(() => text().split('HTTP/1.1 200').length === total + 1, 'the responses');
    await until(() => rig.audit.outcomes.notEvaluated === total, 'the end of the exchanges');
    return connection?.listenerCount('close');
  };
  const listeners = await pipeline(20);
  expect(listeners).toBeGreaterThan(0);
  expect(await pipeline(40)).toBe(listeners);
  unsubscribe('http.server.request.start', watch);
  socket.destroy();
});
