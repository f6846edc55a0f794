import { describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { startNginx, startPostgres, startRedis, whyNoDebianServers } from './debian-server.ts';

/** The first data that a server returns for these bytes. */
async function ask(port: number, bytes: string | Buffer): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', (data) => {
      resolve(data.toString('latin1'));
      socket.destroy();
    });
    socket.write(bytes);
  });
}

(whyNoDebianServers() ? describe.skip : describe)('the servers used by tests', () => {
  test('Redis responds to PING, and rejects PING without the password', async () => {
    const open = await startRedis();
    const locked = await startRedis({ password: 'secret' });
    expect(await ask(open.port, 'PING\r\n')).toBe('+PONG\r\n');
    expect(await ask(locked.port, 'PING\r\n')).toMatch(/^-NOAUTH/);
    await Promise.all([open.close(), locked.close()]);
  });

  test('PostgreSQL responds to a TLS request, also if the tests run as root', async () => {
    const server = await startPostgres();
    expect(await ask(server.port, Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))).toMatch(/^[NS]/);
    await server.close();
    await server.close();
  });

  test('nginx serves its configuration', async () => {
    const server = await startNginx(
      (_folder, port) => `server { listen 127.0.0.1:${port}; return 200 "from nginx"; }`,
    );
    expect(await ask(server.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200[^]*from nginx$/,
    );
    await server.close();
  });
});
