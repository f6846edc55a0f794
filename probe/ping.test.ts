import { once } from 'node:events';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Reach } from '../core/facts/facts.ts';
import { holdTimers } from '../testing/held-timers.ts';
import { aMoment } from '../testing/moment.ts';
import { until } from '../testing/proxy-rig.ts';
import { TestServers } from '../testing/sockets.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import { pingOf } from './ping-of.ts';
import { tcpReach } from './tcp-reach.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const PASS = { state: 'reachable', latencyMs: expect.any(Number) };
const fails = (reason: string): unknown => ({ state: 'unreachable', reason });

/** Asks a server that says `answer`, each part in a segment of its own, once it was asked. */
async function ask(type: string, ...answer: (string | Buffer)[]): Promise<Reach> {
  const say = async (socket: Socket): Promise<void> => {
    for (const part of answer) {
      socket.write(part);
      await aMoment();
    }
  };
  const port = await servers.tcp((socket) => void socket.once('data', () => void say(socket)));
  return tcpReach('127.0.0.1', port, { ping: pingOf(`127.0.0.1:${port}`, type), timeoutMs: 60_000 });
}

/** A message of PostgreSQL: an error with this SQLSTATE. */
function pgError(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0Mno\0\0`);
  const head = Buffer.alloc(5, 'E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
const PASSWORD_WANTED = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

describe('PING', () => {
  test.each<[string, (string | Buffer)[], unknown]>([
    ['a pong', ['+PONG\r\n'], PASS],
    ['a pong in two parts', ['+PO', 'NG\r\n'], PASS],
    ['who wants a password first', ['-NOAUTH Authentication required.\r\n'], PASS],
    ['who does not allow PING', ['-NOPERM this user has no permissions\r\n'], PASS],
    [
      'who still loads its data',
      ['-LOADING Redis is loading the dataset in memory\r\n'],
      fails('it answers PING with an error: LOADING Redis is loading the dataset in memory'),
    ],
    [
      'who has no connection to spare',
      ['-ERR max number of clients reached\r\n'],
      fails('it answers PING with an error: ERR max number of clients reached'),
    ],
    [
      'who puts an escape into its error',
      ['-ERR \u001b[31m\r\n'],
      fails('it answers PING with an error: ERR ?[31m'),
    ],
    [
      'who is a web server',
      ['HTTP/1.1 400 Bad Request\r\n\r\n'],
      fails('it does not speak the protocol of Redis'),
    ],
    ['who never ends its line', ['+'.repeat(600)], fails('it does not speak the protocol of Redis')],
  ])('answered by %s', async (_name, answer, expected) => {
    expect(await ask('redis', ...answer)).toEqual(expected);
  });

  test('goes through TLS where the scheme says so, whatever the certificate', async () => {
    const validity = { now: new Date(), days: 1 };
    const pair = await issueLeaf(await issueCa(validity), ['elsewhere.example'], validity);
    const server = createTlsServer(pair, (socket) => {
      socket.on('error', () => undefined);
      let asked = '';
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        asked += chunk;
        if (asked.length >= 14) socket.end(asked === '*1\r\n$4\r\nPING\r\n' ? '+PONG\r\n' : '-ERR\r\n');
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
  const STRANGER = fails('it does not speak the protocol of PostgreSQL');
  test.each<[string, (string | Buffer)[], unknown]>([
    ['who asks for the password', [PASSWORD_WANTED], PASS],
    ['who asks in two parts', [PASSWORD_WANTED.subarray(0, 2), PASSWORD_WANTED.subarray(2)], PASS],
    ['who negotiates the version', [Buffer.from([0x76, 0, 0, 0, 12, 0, 3, 0, 0, 0, 0, 0, 0])], PASS],
    ['who refuses this user', [pgError('28000')], PASS],
    ['who has no such database', [pgError('3D000').subarray(0, 7), pgError('3D000').subarray(7)], PASS],
    [
      'who starts up',
      [pgError('57P03')],
      fails('it is starting up or shutting down and takes no connection yet'),
    ],
    ['who shuts down', [pgError('57P01')], fails('it is shutting down')],
    ['who has no connection left', [pgError('53300')], fails('it has no connection to spare')],
    ['who is a web server', ['HTTP/1.1 400 Bad Request\r\n\r\n'], STRANGER],
    ['who says an impossible length', [Buffer.from([0x45, 0xff, 0xff, 0xff, 0xff])], STRANGER],
    ['who announces a gigabyte', [Buffer.from([0x45, 0x40, 0, 0, 0, 0])], STRANGER],
  ])('answered by %s', async (_name, answer, expected) => {
    expect(await ask('postgres', ...answer)).toEqual(expected);
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
  ])('for %s of type %s names the user and the database, never the password', (address, type, said) => {
    const question = pingOf(address, type)?.question ?? Buffer.alloc(0);
    expect([question.readInt32BE(0), question.toString('latin1', 8).startsWith(said)]).toEqual([
      question.length,
      true,
    ]);
    expect(question.includes('secret')).toBe(false);
  });
});

describe('a question in the own protocol of a service', () => {
  test.each([
    ['cache:6379', 'redis', true],
    ['cache:6379', 'Valkey', true],
    ['redis://cache', undefined, true],
    ['redis+sentinel://cache', undefined, true],
    ['http://cache', 'redis', false],
    ['cache:6379', undefined, false],
    ['kafka:9092', 'kafka', false],
  ])('%s of type %s: %s', (address, type, asked) => {
    expect(pingOf(address, type) !== null).toBe(asked);
  });

  test.each(['redis', 'postgres', 'rediss'])(
    'a %s that accepts and never answers is given up in time',
    async (type) => {
      using timers = holdTimers();
      let isAsked = false;
      const port = await servers.tcp((socket) => void socket.once('data', () => (isAsked = true)));
      const ping = pingOf(`127.0.0.1:${port}`, type);
      const reach = tcpReach('127.0.0.1', port, { ping, timeoutMs: 300 });
      await until(() => isAsked, 'the question');
      await timers.pass(300);
      expect(await reach).toEqual(fails('it accepts connections but does not answer within 0.3 s'));
    },
  );

  test('a server that hangs up without a word does not answer', async () => {
    const server = createTcpServer((socket) => socket.end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect(await tcpReach('127.0.0.1', port, { ping: pingOf(`127.0.0.1:${port}`, 'redis') })).toEqual(
      fails('connection closed without an answer'),
    );
    server.close();
  });

  test('an answer without end is cut off', async () => {
    const ping = { tls: false, question: Buffer.from('?'), judge: () => null };
    const endless = await servers.tcp((socket) => {
      const timer = setInterval(() => socket.write('x'.repeat(8192)), 1);
      socket.once('close', () => clearInterval(timer));
    });
    expect(await tcpReach('127.0.0.1', endless, { ping, timeoutMs: 60_000 })).toEqual(
      fails('its answer is too long'),
    );
  });
});
