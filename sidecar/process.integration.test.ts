import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/shapes/audit-entry.ts';
import type { HealthReport } from '../core/shapes/health.ts';
import { nodeOptions } from '../core/injection/build-sidecar.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { COMPILE_CACHE } from '../testing/machine/compile-cache.ts';
import { until } from '../testing/time/until.ts';
import { terminationLogAt } from '../testing/machine/termination-log.ts';
import { AUDIENCE, ISSUER, issuerKey, TokenIssuer } from '../testing/sign-in/token-issuer.ts';
import { manifestText } from '../testing/sidecar/sidecar-rig.ts';

const BUNDLE = 'dist/sidecar/main.js';

let folder: string;
let agent: Server;
/** The agent's behavior. */
let onRequest: RequestListener;
let child: ChildProcess | null = null;
/** Further servers of one test. */
const others: Server[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sidecar-process-'));
  agent = createServer((request, response) => onRequest(request, response));
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  agent.closeAllConnections();
  agent.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  onRequest = (_request, response) => void response.end('ok');
});
afterEach(async () => {
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  child = null;
  for (const other of others.splice(0)) {
    other.closeAllConnections();
    other.close();
  }
});

interface Run {
  child: ChildProcess;
  output(): string;
  exit(): Promise<number | null>;
}

function run(env: Record<string, string>, standardError: 'pipe' | number = 'pipe'): Run {
  child = spawn(process.execPath, [BUNDLE], {
    env: { LOG_FORMAT: 'json', ...COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', standardError],
  });
  const started = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { child: started, output: () => output, exit: () => exited };
}

interface RawClient {
  text: () => string;
  isClosed: () => boolean;
}

/** A client that sends these bytes and reads until the server closes the connection. */
function connectRaw(url: string, bytes: string): RawClient {
  let text = '';
  let isClosed = false;
  const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('close', () => (isClosed = true)).on('error', () => undefined);
  return { text: () => text, isClosed: () => isClosed };
}

type Ports = Record<'proxyPort' | 'controlPort', number>;

async function startGood(
  spec: (ports: Ports) => object = () => ({}),
  env: Record<string, string> = {},
): Promise<Run & { proxy: string; control: string }> {
  const manifest = join(folder, 'agent.yaml');
  const [proxyPort = 0, controlPort = 0] = await freePorts(2);
  await writeFile(manifest, manifestText(spec({ proxyPort, controlPort })));
  const { port } = agent.address() as AddressInfo;
  const started = run({
    MANIFEST_PATH: manifest,
    UPSTREAM_URL: `http://127.0.0.1:${port}`,
    BIND_ADDRESS: '127.0.0.1',
    PROXY_PORT: String(proxyPort),
    CONTROL_PLANE_PORT: String(controlPort),
    ...env,
  });
  await until(() => started.output().includes('"listening"'), 'the start');
  return { ...started, proxy: `http://127.0.0.1:${proxyPort}`, control: `http://127.0.0.1:${controlPort}` };
}

describe('the bundle', () => {
  test('is smaller than 3 MB', async () => {
    expect((await stat(BUNDLE)).size).toBeLessThan(3_000_000);
  });

  test('loads the library of tokens with the first token, while the request goes on', async () => {
    const issuer = new TokenIssuer([await issuerKey('key-1', 'RS256')]);
    await issuer.open();
    try {
      const auth = { type: 'jwt', jwksUri: issuer.url, issuer: ISSUER, audience: AUDIENCE };
      const started = await startGood(() => ({ api: { auth } }));
      const authorization = `Bearer ${await issuer.sign(new Date())}`;
      expect(await (await fetch(started.proxy, { headers: { authorization } })).text()).toBe('ok');
      const identities = async (): Promise<unknown[]> =>
        ((await (await fetch(`${started.control}/audit`)).json()) as AuditEntry[]).map(
          ({ identity }) => identity,
        );
      await until(async () => JSON.stringify(await identities()).includes('alice'), 'the verification');
      expect(await identities()).toEqual([{ source: 'jwt', user: 'alice' }]);
    } finally {
      await issuer.close();
    }
  });

  test('contains neither the Kubernetes client nor the library of a vendor of LLMs', async () => {
    const { inputs } = JSON.parse(await readFile('dist/sidecar/meta.json', 'utf8')) as {
      inputs: Record<string, unknown>;
    };
    const files = Object.keys(inputs);
    expect(files).toContain('sidecar/main.ts');
    expect(files.filter((file) => file.includes('@kubernetes') || file.startsWith('kube/'))).toEqual([]);
    // Loaded only for the first request of the LLM analysis.
    expect(files.filter((file) => /node_modules\/(@anthropic-ai|openai)\//.test(file))).toEqual([]);
  });
});

describe('an invalid environment ends the process with exit code 1 and names the variable', () => {
  const INVALID: readonly [name: string, value: string, wanted: string][] = [
    ['UPSTREAM_URL', 'ftp://agent', 'must use http: or https: protocol'],
    ['UPSTREAM_TIMEOUT_MS', '-1', 'an integer from 1'],
    ['LOG_FORMAT', 'xml', 'one of json, text'],
  ];
  // One process for all values: config.test.ts tests that each value alone is rejected.
  let result: { output: string; exitCode: number | null };
  beforeAll(async () => {
    const invalid = Object.fromEntries(INVALID.map(([name, value]) => [name, value]));
    const started = run({ ...invalid, PLATFORM_KEY: 'hunter2' });
    result = { exitCode: await started.exit(), output: started.output() };
  });

  test.each(INVALID)('%s=%s', (name, value, wanted) => {
    expect(result.exitCode).toBe(1);
    const line = result.output.split('\n').find((each) => each.startsWith(`${name}=${value}: must be `));
    expect(line).toContain(wanted);
    expect(result.output).not.toContain('hunter2');
  });

  test.each([
    ['PROOF_STORE_PATH', '/nowhere/proofs.json', 'cannot be written'],
    ['PLATFORM_SECRET_DIR', '/nowhere', 'cannot be read'],
    ['PLATFORM_SECRET_DIR', '/dev/null', 'is not a directory'],
  ])('%s=%s %s', async (name, value, why) => {
    const manifest = join(folder, 'agent.yaml');
    await writeFile(manifest, manifestText());
    const started = run({ MANIFEST_PATH: manifest, [name]: value });
    expect(await started.exit()).toBe(1);
    expect(started.output()).toContain(`${name} ${value} ${why}`);
  });
});

describe('an unusable manifest ends the process with its own exit code and a message for people', () => {
  const log = () => join(folder, 'termination-log');
  const summary = (key: string) =>
    `The manifest is not valid: correct the key ${key} of its ConfigMap (volume platform-manifest), "platform validate" lists every problem\n`;

  test('when it is missing', async () => {
    const path = join(folder, 'none.yaml');
    const started = run({ MANIFEST_PATH: path, ...terminationLogAt(log()) });
    expect(await started.exit()).toBe(65);
    expect(started.output()).toContain(`${path}: does not exist`);
    expect(started.output()).toContain(`MANIFEST_PATH ${path} is not a valid manifest: one problem`);
    expect(await readFile(log(), 'utf8')).toBe(`${summary('none.yaml')}none.yaml: does not exist`);
  });

  test('when it is invalid, with every problem and its position', async () => {
    const path = join(folder, 'wrong.yaml');
    await writeFile(
      path,
      'apiVersion: platform.io/v1\nkind: PlatformAgent\nmetadata:\n  name: Not A Label\n  version: 1.0.0\n  description: x\nspec:\n  modle: {}\n',
    );
    const started = run({ MANIFEST_PATH: path, ...terminationLogAt(log()) });
    expect(await started.exit()).toBe(65);
    const message = await readFile(log(), 'utf8');
    expect(message.startsWith(summary('wrong.yaml'))).toBe(true);
    for (const text of [started.output(), message]) {
      expect(text).toMatch(/wrong\.yaml:4:\d+ metadata\.name/);
      expect(text).toMatch(/wrong\.yaml:8:3 spec\.modle/);
    }
  });

  test('with the first problems of many', async () => {
    const path = join(folder, 'many.yaml');
    const names = Array.from({ length: 40 }, (_, index) => `unknown${index}: ${'x'.repeat(400)}\n`);
    await writeFile(path, names.join(''));
    const started = run({ MANIFEST_PATH: path, ...terminationLogAt(log()) });
    expect(await started.exit()).toBe(65);
    const lines = (await readFile(log(), 'utf8')).split('\n');
    expect(lines).toHaveLength(7);
    expect(lines.at(-1)).toMatch(/^\d+ more problems$/);
  });
});

/** Another process of the pod listens on IPv4 or IPv6, on every address or on loopback, on either port. */
const LISTENERS = [
  ['IPv4', '0.0.0.0', 'PROXY_PORT'],
  ['IPv4', '127.0.0.1', 'CONTROL_PLANE_PORT'],
  ['IPv6', '::', 'PROXY_PORT'],
  ['IPv6', '::1', 'CONTROL_PLANE_PORT'],
] as const;

describe('another process on a port of the sidecar', () => {
  const listenOn = async (host: string, port: number): Promise<Server> => {
    const server = createServer((_request, response) => void response.end('not the sidecar'));
    others.push(server);
    server.listen({ port, host, ipv6Only: host.includes(':') });
    await once(server, 'listening');
    return server;
  };
  const environment = async (ports: Record<string, string>): Promise<Record<string, string>> => {
    const manifest = join(folder, 'agent.yaml');
    await writeFile(manifest, manifestText());
    const { port } = agent.address() as AddressInfo;
    return { MANIFEST_PATH: manifest, UPSTREAM_URL: `http://127.0.0.1:${port}`, ...ports };
  };
  const ownPorts = async (): Promise<Record<'PROXY_PORT' | 'CONTROL_PLANE_PORT', string>> => {
    const [proxy, control] = await freePorts(2);
    return { PROXY_PORT: String(proxy), CONTROL_PLANE_PORT: String(control) };
  };

  test.each(LISTENERS)(
    'over %s (%s, %s) ends a sidecar that starts later with the exit code for a port in use',
    async (_family, host, variable) => {
      const ports = await ownPorts();
      await listenOn(host, Number(ports[variable]));
      const started = run(await environment(ports));
      expect(await started.exit()).toBe(98);
      expect(started.output()).toContain(`EADDRINUSE: address already in use :::${ports[variable]}`);
    },
  );

  test('cannot listen after the sidecar, which serves both ports over IPv4 and IPv6', async () => {
    const ports = await ownPorts();
    const started = run(await environment(ports));
    await until(() => started.output().includes('"listening"'), 'the start');
    for (const [, host, variable] of LISTENERS) {
      await expect(listenOn(host, Number(ports[variable]))).rejects.toThrow('EADDRINUSE');
      const loopback = host.includes(':') ? '[::1]' : '127.0.0.1';
      const path = variable === 'PROXY_PORT' ? '/x' : '/readyz';
      const text = await (await fetch(`http://${loopback}:${ports[variable]}${path}`)).text();
      expect(text).toContain(variable === 'PROXY_PORT' ? 'ok' : '"status":"ok"');
    }
  });
});

test.each(['127.0.0.1', '::1'])('localhost reaches an agent that listens on %s only', async (host) => {
  const server = createServer((request, response) => void request.pipe(response));
  others.push(server);
  server.on('upgrade', (_request, socket) =>
    socket.end('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframe'),
  );
  server.listen({ port: 0, host, ipv6Only: true });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { proxy } = await startGood(undefined, { UPSTREAM_URL: `http://localhost:${port}` });
  const sized = await fetch(proxy, { method: 'POST', body: 'sized' });
  const chunked = await fetch(proxy, {
    method: 'POST',
    body: ReadableStream.from([Buffer.from('chunked')]),
    duplex: 'half',
  });
  expect([await sized.text(), await chunked.text()]).toEqual(['sized', 'chunked']);
  const frames = connectRaw(
    proxy,
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  );
  await until(() => frames.text().endsWith('frame'), 'the frame');
});

test('traffic goes on after the reader of the log has gone', async () => {
  const started = await startGood();
  started.child.stderr!.destroy();
  // Each new version of the manifest is a line of the log.
  for (const modelId of ['m1', 'm2', 'm3']) {
    const model = { provider: 'openai', id: modelId, apiKey: '$env:OPENAI_API_KEY' };
    await writeFile(join(folder, 'agent.yaml'), manifestText({ model }));
    const inForce = async (): Promise<boolean> =>
      (await (await fetch(`${started.control}/explore`)).text()).includes(`"${modelId}"`);
    while (!(await inForce())) expect(started.child.exitCode).toBeNull();
    expect(await (await fetch(started.proxy)).text()).toBe('ok');
  }
  started.child.kill('SIGTERM');
  expect(await started.exit()).toBe(0);
});

(existsSync('/dev/full') ? test : test.skip)('traffic goes on when the disk of the log is full', async () => {
  const full = openSync('/dev/full', 'w');
  const manifest = join(folder, 'agent.yaml');
  await writeFile(manifest, manifestText());
  const [proxyPort, controlPort] = await freePorts(2);
  const { port } = agent.address() as AddressInfo;
  const started = run(
    {
      ...{ MANIFEST_PATH: manifest, UPSTREAM_URL: `http://127.0.0.1:${port}`, BIND_ADDRESS: '127.0.0.1' },
      ...{ PROXY_PORT: String(proxyPort), CONTROL_PLANE_PORT: String(controlPort), LOG_LEVEL: 'debug' },
    },
    full,
  );
  closeSync(full);
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${controlPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) expect(started.child.exitCode).toBeNull();
  expect(await (await fetch(`http://127.0.0.1:${proxyPort}`)).text()).toBe('ok');
  started.child.kill('SIGTERM');
  expect(await started.exit()).toBe(0);
});

test('a manifest cannot make the sidecar probe its own ports or link-local addresses', async () => {
  const paths: unknown[] = [];
  onRequest = (request, response) => {
    paths.push(request.url);
    response.end();
  };
  const { control } = await startGood(({ proxyPort, controlPort }) => ({
    requires: {
      services: [
        { name: 'proxy', address: `localhost:${proxyPort}` },
        { name: 'metadata', address: '169.254.169.254:80' },
      ],
    },
    mcp: {
      servers: [
        { name: 'proxy', url: `http://127.0.0.1:${proxyPort}/pay` },
        { name: 'events', url: `http://localhost:${controlPort}/events` },
        { name: 'control', host: '127.8.8.8', port: controlPort },
      ],
    },
  }));
  const { checks } = (await (await fetch(`${control}/health/ready`)).json()) as HealthReport;
  const own = "the sidecar's own ports are not probed";
  expect(checks.map(({ id, status, message }) => [id, status, message])).toEqual(
    expect.arrayContaining([
      ['service:proxy', 'skip', own],
      ['service:metadata', 'skip', 'link-local and metadata addresses are not probed'],
      ['mcp:proxy', 'skip', own],
      ['mcp:events', 'skip', own],
      ['mcp:control', 'skip', own],
    ]),
  );
  expect(await (await fetch(`${control}/audit`)).json()).toEqual([]);
  expect(paths.sort()).toEqual([
    '/.well-known/agent-card.json',
    '/capabilities',
    '/health',
    '/platform/health',
  ]);
});

describe('events', () => {
  /** A batch near the body limit of 64 KiB. */
  const batch = (requestId: string, salt: number): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      requestId,
      events: Array.from({ length: 110 }, (_, index) => ({
        type: 'tool',
        name: `${salt}-${index}-`.padEnd(500, 'x'),
      })),
    }),
  });
  const request = async (proxy: string, id: string): Promise<void> => {
    await (await fetch(proxy, { headers: { 'x-request-id': id } })).text();
  };
  const newest = async (control: string): Promise<AuditEntry> => {
    const [entry] = (await (await fetch(`${control}/audit?limit=1`)).json()) as AuditEntry[];
    return entry!;
  };

  test('beyond the limit of one request are rejected with 413, and no event of that batch is recorded', async () => {
    const { proxy, control } = await startGood();
    await request(proxy, 'one');
    let accepted = 0;
    let response = await fetch(`${control}/events`, batch('one', 0));
    for (; response.status === 200 && accepted < 20; accepted += 1)
      response = await fetch(`${control}/events`, batch('one', accepted + 1));
    expect([response.status, response.headers.get('content-type'), await response.json()]).toEqual([
      413,
      'application/problem+json; charset=utf-8',
      {
        type: 'about:blank',
        title: 'Content Too Large',
        status: 413,
        detail: 'the events of request one need more than 524288 bytes; no event was recorded',
      },
    ]);
    expect(accepted).toBeGreaterThan(1);
    expect((await newest(control)).events).toHaveLength(110 * accepted);
    const metrics = await (await fetch(`${control}/metrics`)).text();
    expect(metrics).toContain('platform_sidecar_events_dropped_total{reason="entry_full"} 110\n');
  });

  test('in 1,400 full batches do not exhaust the heap of an injected sidecar, and the newest are kept', async () => {
    const started = await startGood(undefined, { NODE_OPTIONS: nodeOptions('192Mi') });
    const { proxy, control } = started;
    const statuses = new Map<number, number>();
    let sent = 0;
    const send = async (): Promise<void> => {
      for (let i = sent++; i < 1_400; i = sent++) {
        const response = await fetch(`${control}/events`, batch(`r${i % 82}`, i));
        await response.text();
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      }
    };
    for (let i = 0; i < 82; i += 1) await request(proxy, `r${i}`);
    await Promise.all([send(), send(), send(), send()]);
    expect([...statuses.keys()].filter((status) => status !== 200 && status !== 413)).toEqual([]);
    await request(proxy, 'last');
    expect((await fetch(`${control}/events`, batch('last', 0))).status).toBe(200);
    expect([started.child.exitCode, started.child.signalCode]).toEqual([null, null]);

    expect(await newest(control)).toMatchObject({ seq: 83, requestId: 'last' });
    expect((await newest(control)).events).toHaveLength(110);
    const audit = await fetch(`${control}/audit`);
    expect(audit.headers.get('x-platform-audit-dropped')).toBe('0');
    expect(await audit.json()).toHaveLength(83);
    const metrics = await (await fetch(`${control}/metrics`)).text();
    const [, bytes] = /^platform_sidecar_event_bytes (\d+)$/m.exec(metrics) ?? [];
    expect(Number(bytes)).toBeGreaterThan(0);
    // A fraction of twice the heap size, which includes the young generation.
    expect(Number(bytes)).toBeLessThanOrEqual((256 * 1024 * 1024) / 32);
    expect(metrics).toMatch(/^platform_sidecar_events_dropped_total\{reason="ring_full"\} [1-9]/m);
  });
});

describe('SIGTERM', () => {
  test('ends an idle sidecar with exit code 0 before the grace period', async () => {
    const started = await startGood();
    expect(await (await fetch(`${started.proxy}/x`)).text()).toBe('ok');
    const startedAt = Date.now();
    started.child.kill('SIGTERM');
    expect(await started.exit()).toBe(0);
    // The grace period for requests in flight is 25 s.
    expect(Date.now() - startedAt).toBeLessThan(24_000);
  });

  test('keeps streams and WebSockets open, closes idle connections, accepts no new ones, and exits after the last', async () => {
    const started = await startGood();
    let stream: ServerResponse | null = null;
    let socket: Socket | null = null;
    onRequest = (request, response) => {
      if (request.url === '/quick') return void response.end('ok');
      stream = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    };
    agent.once('upgrade', (_request, switched: Socket) => {
      socket = switched;
      switched.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    const idle = connectRaw(started.proxy, 'GET /quick HTTP/1.1\r\nHost: a\r\n\r\n');
    const events = connectRaw(started.proxy, 'GET /events HTTP/1.1\r\nHost: a\r\n\r\n');
    const frames = connectRaw(
      started.proxy,
      'GET /frames HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    await until(() => idle.text().endsWith('ok') && events.text().includes('data: 1'), 'the responses');
    await until(() => frames.text().startsWith('HTTP/1.1 101 '), 'the switch');
    expect(idle.isClosed()).toBe(false);
    started.child.kill('SIGTERM');
    await until(() => idle.isClosed(), 'the end of the idle connection');
    expect((await fetch(`${started.control}/readyz`)).status).toBe(503);
    await expect(fetch(`${started.proxy}/quick`)).rejects.toThrow('fetch failed');
    // Both connections still transfer data.
    for (let i = 1; i <= 20; i += 1) {
      stream!.write(`data: later ${i}\n\n`);
      socket!.write(`frame ${i};`);
      await until(
        () => events.text().includes(`data: later ${i}\n\n`) && frames.text().endsWith(`frame ${i};`),
        'what follows',
      );
    }
    stream!.end();
    await until(() => events.isClosed(), 'the end of the stream’s connection');
    expect(events.text()).toMatch(/\r\n0\r\n\r\n$/);
    expect(started.child.exitCode).toBeNull();
    socket!.end();
    expect(await started.exit()).toBe(0);
    expect(frames.isClosed()).toBe(true);
  });
});

describe('a registration key past two thirds of its lifetime', () => {
  const DAY = 86_400;
  const now = Math.floor(Date.now() / 1000);
  const keyOf = (days: number): string =>
    [{ alg: 'HS256' }, { sub: 'agt_1', iat: now - days * DAY, exp: now + (30 - days) * DAY }, 's']
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
  const fresh = keyOf(0);
  const old = keyOf(21);
  let sent: string[];

  beforeEach(() => {
    sent = [];
    onRequest = ({ url, headers }, response) => {
      const path = url?.replace('/plane/api/v1/', '') ?? '';
      if (path === 'token' || path === 'heartbeat') sent.push(`${path} ${headers.authorization}`);
      if (path !== 'token') return void response.writeHead(path === 'heartbeat' ? 204 : 200).end();
      const expiresAt = new Date((now + 30 * DAY) * 1000).toISOString();
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ apiKey: fresh, expiresAt }));
    };
  });
  const startWith = (env: Record<string, string>) => {
    const { port } = agent.address() as AddressInfo;
    return startGood(undefined, { PLATFORM_URL: `http://127.0.0.1:${port}/plane`, ...env });
  };
  const end = async (started: Run): Promise<void> => {
    await until(() => sent.some((each) => each.startsWith('heartbeat')), 'a heartbeat');
    started.child.kill('SIGTERM');
    await started.exit();
  };
  const kept = async (path: string) => [await readFile(path, 'utf8'), (await stat(path)).mode & 0o777];

  test('is renewed in its token file', async () => {
    const path = join(folder, 'token');
    await writeFile(path, `${old}\n`);
    await end(await startWith({ PLATFORM_TOKEN_FILE: path }));
    expect(sent.slice(0, 2)).toEqual([`token Bearer ${old}`, `heartbeat Bearer ${fresh}`]);
    expect(await kept(path)).toEqual([`${fresh}\n`, 0o600]);
  });

  test('is replaced by the stored renewed key after a restart', async () => {
    const path = join(folder, 'kept');
    const env = { PLATFORM_KEY: old, PLATFORM_KEY_STORE_PATH: path };
    await end(await startWith(env));
    expect(await kept(path)).toEqual([`${fresh}\n`, 0o600]);
    sent = [];
    await end(await startWith(env));
    expect(new Set(sent)).toEqual(new Set([`heartbeat Bearer ${fresh}`]));
  });
});
