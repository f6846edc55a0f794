import { once } from 'node:events';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Reach } from '../core/facts/facts.ts';
import { holdTimers } from '../testing/time/held-timers.ts';
import { aMoment } from '../testing/time/moment.ts';
import { until } from '../testing/time/until.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import { pingOf } from './ping-of.ts';
import { tcpReach } from './tcp-reach.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const PASS = { state: 'reachable', latencyMs: expect.any(Number) };
const fails = (reason: string): unknown => ({ state: 'unreachable', reason });

/** Pings a server that sends the parts of its response in separate TCP segments. */
async function ping(type: string, ...response: (string | Buffer)[]): Promise<Reach> {
  const respond = async (socket: Socket): Promise<void> => {
    for (const part of response) {
      socket.write(part);
      await aMoment();
    }
  };
  const port = await servers.tcp((socket) => void socket.once('data', () => void respond(socket)));
  return tcpReach('127.0.0.1', port, { ping: pingOf(`127.0.0.1:${port}`, type), timeoutMs: 60_000 });
}

/** A PostgreSQL error message with this SQLSTATE. */
function pgError(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0Mno\0\0`);
  const head = Buffer.alloc(5, 'E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
const PASSWORD_REQUEST = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

describe('PING', () => {
  test.each<[string, (string | Buffer)[], unknown]>([
    ['is a pong', ['+PONG\r\n'], PASS],
    ['is a pong in two parts', ['+PO', 'NG\r\n'], PASS],
    ['requires a password', ['-NOAUTH Authentication required.\r\n'], PASS],
    ['forbids PING', ['-NOPERM this user has no permissions\r\n'], PASS],
    [
      'is an error while data is loading',
      ['-LOADING Redis is loading the dataset in memory\r\n'],
      fails('PING returned an error: LOADING Redis is loading the dataset in memory'),
    ],
    [
      'is an error about too many clients',
      ['-ERR max number of clients reached\r\n'],
      fails('PING returned an error: ERR max number of clients reached'),
    ],
    [
      'is an error with an escape sequence',
      ['-ERR \u001b[31m\r\n'],
      fails('PING returned an error: ERR ?[31m'),
    ],
    [
      'comes from a web server',
      ['HTTP/1.1 400 Bad Request\r\n\r\n'],
      fails('the server does not speak the Redis protocol'),
    ],
    ['is a line without end', ['+'.repeat(600)], fails('the server does not speak the Redis protocol')],
  ])('gives the expected result when the response %s', async (_name, response, expected) => {
    expect(await ping('redis', ...response)).toEqual(expected);
  });

  test('uses TLS when the scheme requires it and accepts any certificate', async () => {
    const validity = { now: new Date(), days: 1 };
    const pair = await issueLeaf(await issueCa(validity), ['elsewhere.example'], validity);
    const server = createTlsServer(pair, (socket) => {
      socket.on('error', () => undefined);
      let received = '';
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        received += chunk;
        if (received.length >= 14) socket.end(received === '*1\r\n$4\r\nPING\r\n' ? '+PONG\r\n' : '-ERR\r\n');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect(
      await tcpReach('localhost', port, { ping: pingOf('rediss://:secret@localhost', undefined) }),
    ).toEqual(PASS);
    server.close();
  });
});

describe('a startup packet', () => {
  const OTHER_PROTOCOL = fails('the server does not speak the PostgreSQL protocol');
  test.each<[string, (string | Buffer)[], unknown]>([
    ['requests the password', [PASSWORD_REQUEST], PASS],
    [
      'requests the password in two parts',
      [PASSWORD_REQUEST.subarray(0, 2), PASSWORD_REQUEST.subarray(2)],
      PASS,
    ],
    ['negotiates the version', [Buffer.from([0x76, 0, 0, 0, 12, 0, 3, 0, 0, 0, 0, 0, 0])], PASS],
    ['rejects this user', [pgError('28000')], PASS],
    ['reports an unknown database', [pgError('3D000').subarray(0, 7), pgError('3D000').subarray(7)], PASS],
    [
      'reports a starting server',
      [pgError('57P03')],
      fails('the server is starting up or shutting down and does not accept connections'),
    ],
    ['reports a server that shuts down', [pgError('57P01')], fails('the server is shutting down')],
    ['reports too many connections', [pgError('53300')], fails('the server has no free connection slot')],
    ['comes from a web server', ['HTTP/1.1 400 Bad Request\r\n\r\n'], OTHER_PROTOCOL],
    ['has an impossible length', [Buffer.from([0x45, 0xff, 0xff, 0xff, 0xff])], OTHER_PROTOCOL],
    ['announces a gigabyte', [Buffer.from([0x45, 0x40, 0, 0, 0, 0])], OTHER_PROTOCOL],
  ])('gives the expected result when the response %s', async (_name, response, expected) => {
    expect(await ping('postgres', ...response)).toEqual(expected);
  });

  test.each([
    ['127.0.0.1:1', 'postgres', 'user\0postgres\0database\0postgres\0'],
    [
      'postgres://shop:secret@127.0.0.1:1/orders?sslmode=disable',
      undefined,
      'user\0shop\0database\0orders\0',
    ],
    ['postgresql+asyncpg://a%40b:secret@db/', 'redis', 'user\0a@b\0database\0a@b\0'],
    ['postgres://%00x@db', undefined, 'user\0x\0database\0'],
    ['postgres://%E0%A4@one:1,two:2/orders', undefined, 'user\0postgres\0database\0'],
  ])(
    'for %s of type %s contains the user and the database, not the password',
    (address, type, parameters) => {
      const request = pingOf(address, type)?.request ?? Buffer.alloc(0);
      expect([request.readInt32BE(0), request.toString('latin1', 8).startsWith(parameters)]).toEqual([
        request.length,
        true,
      ]);
      expect(request.includes('secret')).toBe(false);
    },
  );
});

describe('a protocol-level ping', () => {
  test.each([
    ['cache:6379', 'redis', true],
    ['cache:6379', 'Valkey', true],
    ['redis://cache', undefined, true],
    ['redis+sentinel://cache', undefined, true],
    ['http://cache', 'redis', false],
    ['cache:6379', undefined, false],
    ['kafka:9092', 'kafka', false],
  ])('exists for %s of type %s: %s', (address, type, exists) => {
    expect(pingOf(address, type) !== null).toBe(exists);
  });

  test.each(['redis', 'postgres', 'rediss'])(
    'times out when a %s server accepts the connection and does not respond',
    async (type) => {
      using timers = holdTimers();
      let isRequested = false;
      const port = await servers.tcp((socket) => void socket.once('data', () => (isRequested = true)));
      const reach = tcpReach('127.0.0.1', port, { ping: pingOf(`127.0.0.1:${port}`, type), timeoutMs: 300 });
      await until(() => isRequested, 'the request');
      await timers.pass(300);
      expect(await reach).toEqual(fails('connection accepted, but no response within 0.3 s'));
    },
  );

  test('fails when the server closes the connection without a response', async () => {
    const server = createTcpServer((socket) => socket.end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect(await tcpReach('127.0.0.1', port, { ping: pingOf(`127.0.0.1:${port}`, 'redis') })).toEqual(
      fails('connection closed without a response'),
    );
    server.close();
  });

  test('fails when the response is endless', async () => {
    const undecided = { tls: false, request: Buffer.from('?'), judge: () => null };
    const endless = await servers.tcp((socket) => {
      const timer = setInterval(() => socket.write('x'.repeat(8192)), 1);
      socket.once('close', () => clearInterval(timer));
    });
    expect(await tcpReach('127.0.0.1', endless, { ping: undecided, timeoutMs: 60_000 })).toEqual(
      fails('the response is too long'),
    );
  });
});
