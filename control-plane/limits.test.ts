import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ADMIN_KEY, startControlPlaneRig, type ControlPlaneRig } from '../testing/fleet/control-plane-rig.ts';
import { until } from '../testing/time/until.ts';
import { issueCa } from '../webhook/certificates/issue.ts';
import { API_TIMEOUTS, apiLimits } from './connection-limits.ts';

/** Short enough for a test. Only the server measures the time. */
const TIMEOUTS = { headMs: 300, requestMs: 600 };
const MAX_CONNECTIONS = 40;

let rig: ControlPlaneRig;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await rig.close();
});

/** With the limits of the process, except for the time and the number of connections. */
const start = async (timeouts = TIMEOUTS): Promise<void> => {
  rig = await startControlPlaneRig({
    listen: (metrics) => ({
      limits: { ...apiLimits(metrics), maxConnections: MAX_CONNECTIONS },
      timeouts,
    }),
  });
};

interface Client {
  socket: Socket;
  text: () => string;
  closed: Promise<unknown>;
}

async function open(): Promise<Client> {
  let text = '';
  const socket = connect(rig.listener.port, '127.0.0.1').on('error', () => undefined);
  clients.push(socket);
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, text: () => text, closed };
}

function post(path: string, ...headers: string[]): string {
  const lines = [`POST /api/v1${path} HTTP/1.1`, 'host: a', 'content-type: application/json', ...headers];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const metric = (name: string): string =>
  rig.metrics
    .render()
    .split('\n')
    .filter((line) => line.startsWith(name))
    .join('\n');

describe('a slow client', () => {
  test('that sends its head byte by byte gets 408, and its connection is closed', async () => {
    await start();
    const { socket, text, closed } = await open();
    const head = post('/heartbeat').slice(0, -2);
    let sent = 0;
    const timer = setInterval(() => socket.write(head[sent++ % head.length] ?? ''), 20);
    await closed;
    clearInterval(timer);
    expect(text()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('that sends nothing is closed', async () => {
    await start();
    await (
      await open()
    ).closed;
    expect(await rig.send('GET', '/livez')).toMatchObject({ status: 200 });
  });

  test('that never ends its body gets 408, and nothing is stored', async () => {
    await start();
    const { apiKey } = await rig.register('shop');
    const before = await rig.stored();
    const { socket, text, closed } = await open();
    socket.write(post('/heartbeat', `authorization: Bearer ${apiKey}`, 'content-length: 1000'));
    const timer = setInterval(() => socket.write('{'), 20);
    await closed;
    clearInterval(timer);
    expect(text()).toMatch(/^HTTP\/1\.1 408 /);
    expect(await rig.stored()).toBe(before);
  });

  test('without a credential gets its response before its body arrives', async () => {
    await start(API_TIMEOUTS);
    const { socket, text } = await open();
    socket.write(post('/heartbeat', 'content-length: 60000'));
    await until(() => text().includes('\r\n\r\n'), 'the response');
    expect(text()).toMatch(/^HTTP\/1\.1 401 /);
  });
});

test('a body of any size above the limit is rejected, and its connection is closed', async () => {
  await start(API_TIMEOUTS);
  const { socket, text, closed } = await open();
  socket.write(post('/register', `x-admin-key: ${ADMIN_KEY}`, 'transfer-encoding: chunked'));
  const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
  for (let sent = 0; sent <= 256 * 1024 + 1024 * 1024; sent += 0x4000) socket.write(chunk);
  await closed;
  expect(text()).toMatch(/^HTTP\/1\.1 413 /);
});

test('a thousand idle connections occupy the memory of the limit, and new clients are served', async () => {
  await start(API_TIMEOUTS);
  const { server } = rig.listener;
  const idle: Client[] = [];
  // Not more at once than the kernel queues for the server.
  while (idle.length < 1_000) idle.push(...(await Promise.all(Array.from({ length: 100 }, open))));
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  await until(() => idle.filter(({ socket }) => socket.closed).length >= 1_000 - MAX_CONNECTIONS, 'the cuts');
  expect(await connections()).toBe(MAX_CONNECTIONS);
  expect(await rig.send('GET', '/livez')).toMatchObject({ status: 200 });
  expect(metric('platform_control_plane_overload_total')).toBe(
    `platform_control_plane_overload_total{action="cut"} ${1_000 - MAX_CONNECTIONS + 1}`,
  );
});

test('a connection with a recent request is kept while older ones are closed', async () => {
  await start(API_TIMEOUTS);
  const old = await open();
  old.socket.write(post('/heartbeat').slice(0, -4));
  const used = await open();
  used.socket.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n');
  await until(() => used.text().includes('"live"'), 'the response');
  await Promise.all(Array.from({ length: MAX_CONNECTIONS - 1 }, open));
  await until(() => old.socket.closed, 'the end of the oldest');
  expect(used.socket.closed).toBe(false);
});

test('a request with more than 128 header fields gets 431', async () => {
  await start(API_TIMEOUTS);
  const { socket, text, closed } = await open();
  socket.write(`GET /livez HTTP/1.1\r\nhost: a\r\n${'a: b\r\n'.repeat(200)}\r\n`);
  await closed;
  expect(text()).toMatch(/^HTTP\/1\.1 431 /);
});

describe('with TLS', () => {
  const startTls = async (): Promise<void> => {
    const tls = await issueCa({ now: new Date(), days: 1 });
    rig = await startControlPlaneRig({
      listen: (metrics) => ({
        limits: { ...apiLimits(metrics), maxConnections: MAX_CONNECTIONS },
        timeouts: API_TIMEOUTS,
        tls,
      }),
    });
  };
  const secure = async (): Promise<Socket> => {
    const { port } = rig.listener;
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => undefined);
    clients.push(socket);
    await once(socket, 'secureConnect');
    return socket;
  };

  test('idle connections are limited, and new clients are served', async () => {
    await startTls();
    const idle: Socket[] = [];
    for (let index = 0; index < MAX_CONNECTIONS + 10; index += 1) idle.push((await secure()).resume());
    await until(() => idle.filter(({ closed }) => closed).length === 10, 'the cuts');
    expect(idle.slice(0, 10).every(({ closed }) => closed)).toBe(true);
    const client = await secure();
    client.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n');
    expect(String(await once(client, 'data'))).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('connections without a handshake are limited, and new clients are served', async () => {
    await startTls();
    const silent = await Promise.all(Array.from({ length: MAX_CONNECTIONS + 10 }, open));
    await until(() => silent.filter(({ socket }) => socket.closed).length === 10, 'the cuts');
    const client = await secure();
    client.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n');
    expect(String(await once(client, 'data'))).toMatch(/^HTTP\/1\.1 200 /);
  });
});
