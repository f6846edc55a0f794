import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { freePorts } from '../../examples/demo/free-ports.ts';
import {
  BREAKS,
  DENIAL,
  GUARDED,
  inEachSetting,
  KEEPS,
  type Setting,
} from '../../testing/sidecar/client-rig.ts';
import { until } from '../../testing/time/until.ts';

const MEGABYTE = 1024 * 1024;
/** Maximum memory growth of a sidecar, independent of the size of the bodies. */
const MAX_GROWTH = 100 * MEGABYTE;
/** Megabytes of a body: in one setting more than `MAX_GROWTH`, in the others few (`make soak`: 100 in all settings). */
const BODY_MEGABYTES = process.env['BODY_MEGABYTES'];
const [LARGE, SMALL] = [Number(BODY_MEGABYTES ?? 110), Number(BODY_MEGABYTES ?? 10)];
const isLinux = existsSync('/proc/self/status');
/** Maximum megabytes that the kernel buffers per socket and direction. */
const socketMegabytes = (buffer: 'tcp_rmem' | 'tcp_wmem'): number =>
  isLinux ? Number(readFileSync(`/proc/sys/net/ipv4/${buffer}`, 'utf8').split(/\s+/)[2]) / MEGABYTE : 0;
/** Maximum megabytes sent of a response that is cut: more than the buffers of the four sockets on the path. */
const HELD = Math.ceil(2 * (socketMegabytes('tcp_rmem') + socketMegabytes('tcp_wmem'))) + 5;
const LONG = HELD + 10;

const REST = Buffer.alloc(MEGABYTE - 16, 'rest of a piece;');
/** Numbered megabytes: a lost, duplicated or reordered megabyte changes the digest. */
function* pieces(count: number, onPiece?: () => void): Generator<Buffer> {
  for (let i = 0; i < count; i += 1) {
    onPiece?.();
    yield Buffer.from(`piece ${i};`.padEnd(16));
    // Reuses one buffer: a gigabyte of new buffers takes seconds of garbage collection.
    yield REST;
  }
}

const digests = new Map<number, string>();
/** The digest of `count` megabytes. */
function digestOf(count: number): string {
  const hash = createHash('sha256');
  if (!digests.has(count)) for (const piece of pieces(count)) hash.update(piece);
  const digest = digests.get(count) ?? hash.digest('hex');
  digests.set(count, digest);
  return digest;
}

/** Computes the digest of a stream without keeping its data. */
async function digest(stream: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of stream) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

// The kernel records the peak memory itself. Only Linux provides the peak in a file.
const testOnLinux = isLinux ? test : test.skip;

inEachSetting('large bodies through a sidecar process', suite);

function suite({ mode, engine, env }: Setting): void {
  // The mode that can block a response is the most likely to keep it in memory.
  const megabytes = engine === 'builtin' && mode === 'enforce' ? LARGE : SMALL;
  let directory: string;
  let agent: Server;
  let sidecar: ChildProcess;
  let url: string;

  /** Megabytes that the agent has generated for the latest response. */
  let generated: number;
  /** true: the latest response was cut. */
  let isCut: boolean;
  const counted = (count: number): Generator<Buffer> => pieces(count, () => (generated += 1));

  /** Current (VmRSS) or peak (VmHWM) memory of the process in bytes. */
  async function memory(row: 'VmRSS' | 'VmHWM'): Promise<number> {
    const status = await readFile(`/proc/${sidecar.pid}/status`, 'utf8');
    return Number(new RegExp(`^${row}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  }

  beforeEach(() => {
    generated = 0;
    isCut = false;
  });
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'large-bodies-'));
    const manifest = join(directory, 'agent.yaml');
    await writeFile(manifest, GUARDED);
    agent = createServer((request, response) => {
      const [, path, count] = (request.url ?? '').split('/');
      const reported = path === 'denied' ? BREAKS : KEEPS;
      for (const [name, value] of Object.entries(reported)) response.setHeader(name, value);
      if (path === 'down' || path === 'denied')
        pipeline(Readable.from(counted(Number(count))), response).catch(() => (isCut = true));
      else if (path === 'echo') void pipeline(request, response);
      else void digest(request).then((hash) => response.end(hash));
    });
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
    const [proxyPort, controlPort] = await freePorts(2);
    url = `http://127.0.0.1:${proxyPort}`;
    sidecar = spawn(process.execPath, ['dist/sidecar/main.js'], {
      env: {
        LOG_FORMAT: 'json',
        MANIFEST_PATH: manifest,
        UPSTREAM_URL: `http://127.0.0.1:${(agent.address() as AddressInfo).port}`,
        BIND_ADDRESS: '127.0.0.1',
        PROXY_PORT: String(proxyPort),
        CONTROL_PLANE_PORT: String(controlPort),
        ...(await env()),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    sidecar.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until(() => output.includes('"listening"'), 'the start');
    // The first stream makes the heap grow once, independent of its size. This growth is not measured.
    await digest(await send('POST', '/echo', Readable.from(pieces(20))));
  });
  afterAll(async () => {
    sidecar.kill('SIGKILL');
    await once(sidecar, 'close');
    agent.closeAllConnections();
    await new Promise((resolve) => agent.close(resolve));
    await rm(directory, { recursive: true });
  });

  function send(method: string, path: string, body: Readable | null, headers = {}): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(url + path, { method, headers, agent: false }, resolve);
      request.on('error', reject);
      if (body === null) request.end();
      else pipeline(body, request).catch(reject);
    });
  }

  async function ask(method: string, path: string, body: Readable | null, headers = {}): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of await send(method, path, body, headers)) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  }

  /** Peak memory minus the memory before, in bytes. */
  async function growth(work: () => Promise<void>): Promise<number> {
    const before = await memory('VmRSS');
    await work();
    return (await memory('VmHWM')) - before;
  }

  testOnLinux(
    `${megabytes} megabytes arrive completely, in each direction and in both at once, and the memory stays flat`,
    async () => {
      const grown = await growth(async () => {
        const [whole, half] = [digestOf(megabytes), digestOf(megabytes / 2)];
        const sized = { 'content-length': (megabytes / 2) * MEGABYTE };
        expect(await digest(await send('GET', `/down/${megabytes}`, null))).toBe(whole);
        expect(await ask('POST', '/up', Readable.from(pieces(megabytes)))).toBe(whole);
        expect(await ask('PUT', '/up', Readable.from(pieces(megabytes / 2)), sized)).toBe(half);
        expect(await digest(await send('POST', '/echo', Readable.from(pieces(megabytes / 2))))).toBe(half);
      });
      expect(grown).toBeLessThan(MAX_GROWTH);
    },
    300_000,
  );

  testOnLinux(
    'of a denied response are passed in mode track; in mode enforce the agent is cut off at the beginning',
    async () => {
      const count = mode === 'track' ? SMALL : LONG;
      const response = await send('GET', `/denied/${count}`, null);
      expect(response.headers['x-platform-policy-violations']).toBe(DENIAL);
      if (mode === 'track') expect(await digest(response)).toBe(digestOf(count));
      else {
        expect(response.statusCode).toBe(403);
        response.resume();
        await until(() => isCut, 'the end at the agent');
        expect(generated).toBeLessThan(HELD);
      }
    },
  );
}
