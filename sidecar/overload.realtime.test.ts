import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, get, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/shapes/audit-entry.ts';
import { nodeOptions } from '../core/injection/build-sidecar.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { createMemoryCgroup, type MemoryCgroup } from '../testing/machine/memory-cgroup.ts';
import { until } from '../testing/time/until.ts';
import { IN_SOAK, withinLimit } from '../testing/time/real-time.ts';
import { manifestText } from '../testing/sidecar/sidecar-rig.ts';

/** The injected sidecar's memory limit. */
const LIMIT = '192Mi';
const LIMIT_BYTES = 192 * 1024 * 1024;
const ATTACK_MS = IN_SOAK ? 60_000 : 8_000;
/** Fraction of the hostile connections and 1,000 idle streams; all of them use memory up to a few MiB below the limit. */
const HOSTILE_SHARE = IN_SOAK ? 1 : 0.5;
/** Minimum number of responses that the polite clients get under attack, even on a slow machine. */
const POLITE_RESPONSES = 100;
/** Milliseconds between two requests of one polite connection. */
const PAUSE_MS = 20;
const POLITE_CONNECTIONS = 2;
const LARGE = Buffer.alloc(1024 * 1024, 'x');
const COMPLETION = Buffer.from(JSON.stringify({ model: 'gpt-5', text: 'x'.repeat(1024 * 1024 - 100) }));

/** The agent's behavior by path. */
const AGENT: Readonly<Record<string, RequestListener>> = {
  '/polite': (request, response) => void response.end(request.headers['x-number']),
  '/large': (request, response) => {
    request.resume();
    response.end(LARGE);
  },
  '/v1/chat/completions': (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(COMPLETION),
  '/stream': (_request, response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n'),
  '/read': (request) => void request.resume(),
  '/unread': () => undefined,
};

const cgroup = createMemoryCgroup(LIMIT_BYTES);
if (typeof cgroup === 'string')
  process.stderr.write(
    `SKIPPED, NO MEMORY CGROUP HERE (root and a memory controller are needed): ${cgroup}\n`,
  );

(typeof cgroup === 'string' ? describe.skip : describe)('a sidecar with 192 MiB of memory', () => {
  const { processes, peak, remove } = cgroup as MemoryCgroup;
  let folder: string;
  let agent: Server;
  let sidecar: ChildProcess;
  let clients: ChildProcess | null = null;
  let output = '';
  let [proxyPort, controlPort] = [0, 0];
  const control = (path: string) => fetch(`http://127.0.0.1:${controlPort}${path}`);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'overload-'));
    const manifest = join(folder, 'agent.yaml');
    await writeFile(manifest, manifestText());
    agent = createServer((request, response) => {
      request.on('error', () => undefined);
      AGENT[request.url ?? '']?.(request, response);
    });
    // The agent never responds to an upgrade.
    agent.on('upgrade', (_request, socket: Socket) => socket.on('error', () => socket.destroy()).resume());
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', 4096, resolve));
    [proxyPort = 0, controlPort = 0] = await freePorts(2);
    sidecar = spawn(
      '/bin/sh',
      ['-c', `echo $$ > ${processes} && exec "$@"`, 'sh', process.execPath, 'dist/sidecar/main.js'],
      {
        env: {
          NODE_OPTIONS: nodeOptions(LIMIT),
          LOG_FORMAT: 'json',
          MANIFEST_PATH: manifest,
          UPSTREAM_URL: `http://127.0.0.1:${(agent.address() as AddressInfo).port}`,
          BIND_ADDRESS: '127.0.0.1',
          PROXY_PORT: String(proxyPort),
          CONTROL_PLANE_PORT: String(controlPort),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [sidecar.stdout, sidecar.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until(() => output.includes(String(controlPort)), 'the start of the sidecar');
  });
  afterAll(async () => {
    clients?.kill('SIGKILL');
    if (sidecar.exitCode === null && sidecar.signalCode === null) {
      sidecar.kill('SIGKILL');
      await once(sidecar, 'exit');
    }
    agent.closeAllConnections();
    agent.close();
    await remove();
    await rm(folder, { recursive: true });
  });

  test('survives hostile connections of every kind and idle streams, and a polite client gets every response', async () => {
    const idle = peak();
    let areConnected = false;
    clients = fork('testing/processes/hostile-clients.ts', {
      env: {
        PROXY_PORT: String(proxyPort),
        CONTROL_PORT: String(controlPort),
        HOSTILE_SHARE: String(HOSTILE_SHARE),
      },
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    clients.once('message', () => (areConnected = true));
    await until(
      () => areConnected || sidecar.exitCode !== null || sidecar.signalCode !== null,
      'the connections',
    );
    const judge = withinLimit('a response next to hostile clients (p99)');
    const durations: number[] = [];
    const failures: string[] = [];
    const end = performance.now() + ATTACK_MS;
    const runPoliteClient = async (): Promise<void> => {
      const keepAlive = new Agent({ keepAlive: true, maxSockets: 1 });
      for (
        let number = 0;
        (performance.now() < end || durations.length < POLITE_RESPONSES) &&
        sidecar.signalCode === null &&
        sidecar.exitCode === null;
        number += 1
      ) {
        const startedAt = performance.now();
        const response = await ask(proxyPort, keepAlive, number);
        durations.push(performance.now() - startedAt);
        if (response !== `200 ${number}`) failures.push(response);
        await sleep(PAUSE_MS);
      }
      keepAlive.destroy();
    };
    await Promise.all(Array.from({ length: POLITE_CONNECTIONS }, runPoliteClient));
    process.stdout.write(
      `${durations.length} polite requests; memory before ${mebibytes(idle)}, at most ${mebibytes(peak())}; exit ${sidecar.exitCode} ${sidecar.signalCode}\n`,
    );
    expect([sidecar.exitCode, sidecar.signalCode]).toEqual([null, null]);
    expect(failures).toEqual([]);
    judge(percentile(durations, 0.99));

    const audit = await control('/audit');
    const entries = (await audit.json()) as AuditEntry[];
    const last = entries.at(-1)?.seq ?? 0;
    // Every polite response has an entry, and the ring (AUDIT_RING_SIZE) contains the newest entries without gaps.
    expect(last).toBeGreaterThanOrEqual(durations.length);
    expect(entries).toHaveLength(Math.min(last, 1_000));
    expect(entries.map(({ seq }) => seq)).toEqual(
      entries.map((_, index) => last - entries.length + 1 + index),
    );
    expect(entries.filter(({ statusCode }) => statusCode === 503)).toEqual([]);
    const metrics = await (await control('/metrics')).text();
    expect(metrics).toMatch(/^platform_sidecar_overload_total\{action="refused"\} [1-9]/m);
  });
});

/** Status and body, or the error. */
function ask(port: number, agent: Agent, number: number): Promise<string> {
  return new Promise((resolve) => {
    get({ port, host: '127.0.0.1', path: '/polite', agent, headers: { 'x-number': number } }, (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (text: string) => (body += text))
        .on('error', (error) => resolve(error.message))
        .on('end', () => resolve(`${response.statusCode} ${body}`));
    }).on('error', (error) => resolve(error.message));
  });
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
}
