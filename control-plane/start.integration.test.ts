import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { COMPILE_CACHE } from '../testing/machine/compile-cache.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { DATABASE_URL_FORM } from './stores/postgres/database-url.ts';

let directory: string;
let running: ChildProcess[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agents-'));
  running = [];
});
afterEach(async () => {
  for (const child of running.filter((each) => each.exitCode === null && each.signalCode === null)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(directory, { recursive: true });
});

interface Process {
  child: ChildProcess;
  log: () => string;
  exit: Promise<number | null>;
}

function run(env: Record<string, string>, standardError: 'pipe' | number = 'pipe'): Process {
  const child = spawn(process.execPath, ['dist/control-plane/main.js'], {
    env: {
      PATH: process.env['PATH'],
      ...COMPILE_CACHE,
      LOG_FORMAT: 'json',
      DATA_DIR: join(directory, 'data'),
      ...env,
    },
    stdio: ['ignore', 'ignore', standardError],
  });
  running.push(child);
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
  // `close`, not `exit`: the output is complete only then.
  return { child, log: () => log, exit: once(child, 'close').then(([code]) => code as number | null) };
}

async function serving(env: Record<string, string> = {}): Promise<Process & { url: string }> {
  const [port] = await freePorts(1);
  const started = run({ PORT: String(port), PLATFORM_ADMIN_KEY: 'admin-key-of-a-test', ...env });
  while (!started.log().includes('"listening"')) {
    const ended = await Promise.race([once(started.child.stderr!, 'data'), started.exit]);
    if (!Array.isArray(ended)) throw new Error(started.log());
  }
  return { ...started, url: `http://127.0.0.1:${port}` };
}

/** The status for a wrong admin key, which is a line of the log; 0: not reachable. */
async function statusOfWrongKey(url: string): Promise<number> {
  return fetch(`${url}/api/v1/agents`, { headers: { 'x-admin-key': 'a-wrong-admin-key' } }).then(
    ({ status }) => status,
    () => 0,
  );
}

async function register(url: string): Promise<{ agentId: string; apiKey: string }> {
  const response = await fetch(`${url}/api/v1/register`, {
    method: 'POST',
    headers: { 'x-admin-key': 'admin-key-of-a-test', 'content-type': 'application/json' },
    body: JSON.stringify({ agentName: 'shop', runtime: 'docker' }),
  });
  return (await response.json()) as { agentId: string; apiKey: string };
}

async function push(url: string, apiKey: string, seq: number): Promise<number> {
  const response = await fetch(`${url}/api/v1/heartbeat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    // Long enough that the agent does not become stale during two starts.
    body: JSON.stringify(aHeartbeat({ seq, intervalSeconds: 3_600 })),
  });
  return response.status;
}

const agentsOf = async (url: string): Promise<unknown> =>
  (await fetch(`${url}/api/v1/agents`, { headers: { 'x-admin-key': 'admin-key-of-a-test' } })).json();

test('exits with code 1 on an invalid environment and names every invalid variable, with secrets hidden', async () => {
  const { exit, log } = run({
    PORT: 'x',
    PLATFORM_ADMIN_KEY: 'change-me',
    JWT_SECRET: 'too-short',
    DATABASE_URL: 'mysql://u:pw@db/agents',
  });
  expect(await exit).toBe(1);
  expect(log().split('\n')).toEqual([
    'control-plane cannot start:',
    'PORT=x: must be an integer from 1 to 65535 (default 8080)',
    'PLATFORM_ADMIN_KEY=[secret]: must be a key of at least 16 visible ASCII characters without spaces, or unset',
    'JWT_SECRET=[secret]: must be at least 32 characters, or unset',
    `DATABASE_URL=[secret]: must be ${DATABASE_URL_FORM}, or unset`,
    '',
  ]);
});

test('goes on after the reader of the log has gone', async () => {
  const { url, child, exit } = await serving();
  child.stderr!.destroy();
  expect(await statusOfWrongKey(url)).toBe(403);
  const { apiKey } = await register(url);
  expect(await push(url, apiKey, 1)).toBe(204);
  child.kill('SIGTERM');
  expect(await exit).toBe(0);
});

(existsSync('/dev/full') ? test : test.skip)('goes on when the disk of the log is full', async () => {
  const full = openSync('/dev/full', 'w');
  const [port] = await freePorts(1);
  const { child, exit } = run({ PORT: String(port), PLATFORM_ADMIN_KEY: 'admin-key-of-a-test' }, full);
  closeSync(full);
  const url = `http://127.0.0.1:${port}`;
  while ((await statusOfWrongKey(url)) === 0) expect(child.exitCode).toBeNull();
  const { apiKey } = await register(url);
  expect(await push(url, apiKey, 1)).toBe(204);
  child.kill('SIGTERM');
  expect(await exit).toBe(0);
});

test('exits with code 1 and names DATA_DIR if the data directory cannot be used', async () => {
  writeFileSync(join(directory, 'data'), 'a file');
  const { exit, log } = run({ PORT: String((await freePorts(1))[0]) });
  expect(await exit).toBe(1);
  expect(log()).toContain(
    `cannot open the database ${join(directory, 'data', 'control-plane.sqlite')} (DATA_DIR)`,
  );
});

(existsSync('/proc/self') ? test : test.skip)(
  'exits with code 1 instead of hanging if the file system rejects the data directory',
  async () => {
    const { child, exit, log } = run({
      PORT: String((await freePorts(1))[0]),
      DATA_DIR: '/proc/nowhere/data',
    });
    const timeout = setTimeout(() => child.kill('SIGKILL'), 100_000);
    expect(await exit).toBe(1);
    clearTimeout(timeout);
    expect(log()).toContain('cannot open the database /proc/nowhere/data/control-plane.sqlite (DATA_DIR)');
  },
);

test('starts without its PostgreSQL server, reports the reason, and never logs the password', async () => {
  const [port] = await freePorts(1);
  const { url, child, exit, log } = await serving({
    LOG_LEVEL: 'debug',
    DATABASE_URL: `postgres://app:secret-of-a-test@127.0.0.1:${port}/agents`,
  });
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([
    503,
    expect.stringContaining('the database is not reachable'),
  ]);
  const response = await fetch(`${url}/api/v1/agents`, { headers: { 'x-admin-key': 'admin-key-of-a-test' } });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
  child.kill('SIGTERM');
  expect(await exit).toBe(0);
  expect(log()).toContain('"message":"database unavailable, retrying"');
  expect(log()).toContain('"store":"postgres"');
  expect(log()).not.toContain('secret-of-a-test');
});

test('exits with code 1 and names DATABASE_CA_FILE if the file cannot be read', async () => {
  const { exit, log } = run({
    PORT: '1',
    DATABASE_URL: 'postgres://app:pw@db.invalid/agents',
    DATABASE_CA_FILE: join(directory, 'missing.pem'),
  });
  expect(await exit).toBe(1);
  expect(log()).toContain('DATABASE_CA_FILE');
});

test('reads the admin key and the URL of the database from files', async () => {
  const [free] = await freePorts(1);
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const { url, log } = await serving({
    PLATFORM_ADMIN_KEY: '',
    PLATFORM_ADMIN_KEY_FILE: file('key', 'admin-key-of-a-file\n'),
    DATABASE_URL_FILE: file('url', `postgres://app:secret-of-a-test@127.0.0.1:${free}/agents`),
  });
  const statusOf = async (key: string) =>
    (await fetch(`${url}/api/v1/agents`, { headers: { 'x-admin-key': key } })).status;
  expect([await statusOf('another-key-of-a-test'), await statusOf('admin-key-of-a-file')]).toEqual([
    403, 503,
  ]);
  expect(log()).toContain('"store":"postgres"');
  expect(log()).not.toContain('secret-of-a-test');
});

test('warns that admin routes are unavailable if no admin key is set', async () => {
  const absent = { PLATFORM_ADMIN_KEY_FILE: join(directory, 'none') };
  const { log } = await serving({ PLATFORM_ADMIN_KEY: '', ...absent });
  expect(log()).toContain('admin routes and registration return 503: PLATFORM_ADMIN_KEY is not set');
});

test.each(['0.0.0.0', '::'])('exits with code 98 if the port is in use on %s', async (host) => {
  const server = createServer().listen({ port: 0, host, ipv6Only: host === '::' });
  await once(server, 'listening');
  const { exit, log } = run({ PORT: String((server.address() as AddressInfo).port) });
  expect(await exit).toBe(98);
  expect(log()).toContain('EADDRINUSE');
  server.close();
});

test('exits with code 1 and names the variables if the certificate is invalid', async () => {
  const file = join(directory, 'pem');
  writeFileSync(file, 'not a certificate');
  const { exit, log } = run({ PORT: '1', TLS_CERT_FILE: file, TLS_KEY_FILE: file });
  expect(await exit).toBe(1);
  expect(log()).toContain(
    `TLS_CERT_FILE ${file} and TLS_KEY_FILE ${file} are not a valid certificate and private key`,
  );
});

test('exits with code 0 on SIGTERM despite idle keep-alive connections, and a new process has all data', async () => {
  // Longer than two starts may take, and not longer than the interval: else the reply would contain another interval.
  const env = { RATE_LIMIT_SECONDS: '3600' };
  const first = await serving(env);
  const { agentId, apiKey } = await register(first.url);
  expect(await push(first.url, apiKey, 1)).toBe(204);
  const before = await agentsOf(first.url);
  // The server closes an idle connection after 120 s. A process that waits for that is killed first and has no exit code.
  const timeout = setTimeout(() => first.child.kill('SIGKILL'), 100_000);
  first.child.kill('SIGTERM');
  expect(await first.exit).toBe(0);
  clearTimeout(timeout);
  const second = await serving(env);
  expect(await agentsOf(second.url)).toEqual(before);
  expect(before).toMatchObject([{ agentId, phase: 'Healthy' }]);
  // The key, the sequence and the rate limit survive the restart.
  expect([await push(second.url, apiKey, 1), await push(second.url, apiKey, 2)]).toEqual([204, 429]);
});

test('keeps acknowledged data after SIGKILL', async () => {
  const first = await serving();
  const { apiKey } = await register(first.url);
  expect(await push(first.url, apiKey, 1)).toBe(204);
  first.child.kill('SIGKILL');
  await first.exit;
  const second = await serving();
  expect(await agentsOf(second.url)).toMatchObject([{ agentName: 'shop', phase: 'Healthy' }]);
  expect(await push(second.url, apiKey, 1)).toBe(204);
});

test('never logs keys', async () => {
  const { url, child, exit, log } = await serving({
    LOG_LEVEL: 'debug',
    PLATFORM_ADMIN_KEY: 'admin-key-of-a-test',
  });
  const { apiKey } = await register(url);
  await push(url, apiKey, 1);
  await push(url, `${apiKey}x`, 2);
  child.kill('SIGTERM');
  await exit;
  expect(log()).toContain('remote agent registered');
  expect(log()).not.toContain(apiKey.slice(-20));
});
