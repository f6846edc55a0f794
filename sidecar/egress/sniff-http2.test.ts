import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { connect, type AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { sniffHttp2 } from './sniff-http2.ts';

test('a connection without a byte is closed, one with a slow request is not', async () => {
  const server = createServer();
  sniffHttp2(server, createHttp2Server(), 50);
  server.on('request', (_request, response) => {
    // Later than the limit for the first byte.
    setTimeout(() => response.end('served'), 150);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const silent = connect(port, '127.0.0.1').on('error', () => undefined);
  const busy = await fetch(`http://127.0.0.1:${port}/`);
  expect(await busy.text()).toBe('served');
  if (!silent.destroyed) await once(silent.resume(), 'close');
  server.closeAllConnections();
  server.close();
});
