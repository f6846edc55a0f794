import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { until } from '../../testing/time/until.ts';
import { sniffHttp2 } from './sniff-http2.ts';

test('a connection does not become HTTP/2 after bytes that an earlier listener has read', async () => {
  const server = createServer();
  const http2 = createHttp2Server();
  let sessions = 0;
  http2.on('session', () => (sessions += 1));
  sniffHttp2(server, http2);
  const [sniff] = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    socket.once('data', (chunk: Buffer) => {
      socket.pause().unshift(chunk.subarray(1));
      sniff?.(socket);
      socket.resume();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('xPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const [response] = (await once(socket, 'data')) as [Buffer];
  expect(String(response)).toMatch(/^HTTP\/1\.1 400 /);
  expect(sessions).toBe(0);
  socket.destroy();
  server.close();
});

test('a connection without a byte is closed after a minute, one with a slow request is not', async () => {
  const server = createServer();
  sniffHttp2(server, createHttp2Server());
  const requests: ServerResponse[] = [];
  server.on('request', (_request, response) => void requests.push(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accept = async (): Promise<{ client: Socket; socket: Socket }> => {
    const connection = once(server, 'connection');
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    const [socket] = (await connection) as [Socket];
    return { client: client.setEncoding('latin1'), socket };
  };
  const [silent, busy] = [await accept(), await accept()];
  expect(silent.socket.timeout).toBe(60_000);
  busy.client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => requests.length === 1, 'the request');
  expect(busy.socket.timeout).toBe(0);
  silent.socket.emit('timeout');
  await once(silent.client.resume(), 'close');
  requests[0]?.end('served');
  expect(String(await once(busy.client, 'data'))).toContain('served');
  server.closeAllConnections();
  server.close();
});

test('a call ends when the client ends its HTTP/2 connection', async () => {
  const server = createServer();
  const http2 = createHttp2Server();
  sniffHttp2(server, http2);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const arrived = once(http2, 'request') as Promise<[Http2ServerRequest, Http2ServerResponse]>;
  session.request({ ':path': '/' }).on('error', () => undefined);
  const [, response] = await arrived;
  const closed = once(response, 'close');
  session.destroy();
  await closed;
  server.close();
});
