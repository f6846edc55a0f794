// Measures what the socket census of the built sidecar costs, in a network namespace of its own: processor time of a sidecar with the
// census and of one without it, first while the pod is silent, then while bytes are exchanged over a connection that stays open (only
// polls), then while connections are opened (scans).
// node bench/census.ts --seconds 40 --rows 800 [--json]
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { POLL_MS } from '../sidecar/census/census.ts';
import { integerUpTo } from './options.ts';
import { accepts, startNode, type Started } from './processes.ts';

const SIDECAR = 'dist/sidecar/main.js';
/** The bars: shares of one core. */
const MAX_POLLS = 0.001;
const MAX_SCANS = 0.015;
/** V8 compiles code that runs so rarely for more than a minute. Each state of the pod has this time. */
const WARM_UP_MS = 50_000;
/** After each change of the load: the pace of the polls changes, and a scan follows. */
const SETTLE_MS = 5_000;
/** Milliseconds between two bytes of the active pod: nearly every poll reads other counters than the one before. */
const ACTIVE_MS = POLL_MS.active / 2;
/** Connections that are opened per second while scans are measured: more than polls. */
const OPENED_PER_SECOND = 50;
/** Of the proxy with the census; the next one has its control routes. */
const COUNTING_PORT = 4200;
/** In the namespace that this program creates for itself. */
const INSIDE = 'BENCH_CENSUS_NAMESPACE';

const MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Helps customers.' },
  spec: { model: { provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' } },
});

interface Result {
  what: 'silent' | 'active' | 'scans';
  rows: number;
  seconds: number;
  /** Shares of one core. */
  withCensus: number;
  withoutCensus: number;
  /** A process that does nothing but wake up as often as the census polls in this state. */
  timer: number;
  /** What the polls or scans of the census cost above that: polls without the scans of a quiet pod, scans without the polls of the active pod. */
  census: number;
  bar: number;
}

/** Processor time of all threads in seconds, to the nanosecond. */
function cpuSeconds(pid: number): number {
  const times = globSync(`/proc/${pid}/task/*/schedstat`).map((file) =>
    Number(readFileSync(file, 'latin1').split(' ')[0]),
  );
  return times.reduce((sum, time) => sum + time, 0) / 1e9;
}

async function sidecar(
  census: 'on' | 'off',
  { first, manifest }: { first: number; manifest: string },
): Promise<Started> {
  return startNode(SIDECAR, first, {
    ...{ BIND_ADDRESS: '127.0.0.1', MANIFEST_PATH: manifest, UPSTREAM_URL: 'http://127.0.0.1:9' },
    ...{ PROXY_PORT: String(first), CONTROL_PLANE_PORT: String(first + 1), OPENAI_API_KEY: 'unused' },
    ...{ POLICY_ENGINE: 'builtin', LOG_LEVEL: 'error', CENSUS: census },
  });
}

/** Connections that stay open, and the server that accepts them. */
async function openRows(rows: number): Promise<{ port: number; close: () => void }> {
  const accepted = new Set<Socket>();
  const server = createServer((socket) => void accepted.add(socket.on('error', () => undefined).resume()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  // Both ends are rows of the table.
  const opened: Socket[] = [];
  for (let index = 0; index < rows / 2; index++) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    opened.push(socket);
  }
  const close = (): void => {
    for (const socket of [...opened, ...accepted]) socket.destroy();
    server.close();
  };
  return { port, close };
}

interface Compared {
  /** With the census. */
  counting: Started;
  /** Without. */
  plain: Started;
  timers: { active: Started; silent: Started };
  seconds: number;
  rows: number;
}

async function measure(
  { counting, plain, timers, seconds, rows }: Compared,
  what: Result['what'],
  bar: number,
): Promise<Result> {
  await sleep(SETTLE_MS);
  const scannedBefore = await scanSeconds();
  // The connection of this request ends first.
  await sleep(100);
  const waking = what === 'silent' ? timers.silent : timers.active;
  const before = [counting, plain, waking].map(({ pid }) => cpuSeconds(pid));
  const startedMs = performance.now();
  await sleep(seconds * 1000);
  const took = (performance.now() - startedMs) / 1000;
  const [withCensus = NaN, withoutCensus = NaN, timer = NaN] = [counting, plain, waking].map(
    ({ pid }, index) => (cpuSeconds(pid) - (before[index] ?? NaN)) / took,
  );
  const scans = what === 'scans' ? 0 : ((await scanSeconds()) - scannedBefore) / took;
  return {
    what,
    rows: what === 'scans' ? rows : 0,
    seconds: took,
    withCensus,
    withoutCensus,
    timer,
    census: withCensus - withoutCensus - timer - scans,
    bar,
  };
}

/** Requests a control route of the sidecar with the census. A connection that stays open has a timer in the sidecar, which would count as cost of the census. */
const fetchControl = (path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${COUNTING_PORT + 1}${path}`, { headers: { connection: 'close' } });

/** Seconds that all scans took. */
async function scanSeconds(): Promise<number> {
  const response = await fetchControl('/metrics');
  const value = /^platform_sidecar_census_scan_seconds_total (\S+)$/m.exec(await response.text())?.[1];
  if (value === undefined) throw new Error('the sidecar does not report the duration of its scans');
  return Number(value);
}

/** Runs it while bytes are exchanged over a connection that stays open. */
async function whileActive<T>(run: () => Promise<T>): Promise<T> {
  const activity = startScript(EXCHANGES);
  try {
    return await run();
  } finally {
    await activity.close();
  }
}

async function measureInside(seconds: number, rows: number): Promise<Result[]> {
  spawnSync('ip', ['link', 'set', 'lo', 'up']);
  const directory = await mkdtemp(join(tmpdir(), 'bench-census-'));
  const manifest = join(directory, 'agent.yaml');
  writeFileSync(manifest, MANIFEST);
  const started: Started[] = [];
  try {
    const plain = await sidecar('off', { first: 4100, manifest });
    started.push(plain);
    const counting = await sidecar('on', { first: COUNTING_PORT, manifest });
    started.push(counting);
    await stateIsOn();
    const timers = {
      active: startScript(timerCode(POLL_MS.active)),
      silent: startScript(timerCode(POLL_MS.silent)),
    };
    started.push(timers.active, timers.silent);
    const compared: Compared = { counting, plain, timers, seconds, rows };
    await whileActive(() => sleep(WARM_UP_MS));
    await sleep(WARM_UP_MS);
    const silent = await measure(compared, 'silent', MAX_POLLS);
    const active = await whileActive(() => measure(compared, 'active', MAX_POLLS));
    const load = await openRows(rows);
    const opening = setInterval(() => {
      connect(load.port, '127.0.0.1')
        .on('error', () => undefined)
        .on('connect', function (this: Socket) {
          this.destroy();
        });
    }, 1000 / OPENED_PER_SECOND);
    const all = await measure(compared, 'scans', MAX_SCANS);
    const scans = { ...all, census: all.census - active.census };
    clearInterval(opening);
    load.close();
    return [silent, active, scans];
  } finally {
    for (const each of started.toReversed()) await each.close();
    await rm(directory, { recursive: true });
  }
}

const timerCode = (everyMs: number): string => `setInterval(() => undefined, ${everyMs})`;

/** One connection that stays open, in both directions. */
const EXCHANGES = `
const net = require('node:net');
const server = net.createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1', () => {
  const socket = net.connect(server.address().port, '127.0.0.1').resume();
  setInterval(() => socket.write('.'), ${ACTIVE_MS});
});
`;

function startScript(code: string): Started {
  const child = spawn(process.execPath, ['-e', code], { stdio: 'inherit' });
  if (child.pid === undefined) throw new Error('Node.js did not start');
  const exited = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { pid: child.pid, close };
}

/** Rejects if the census is refused, because then nothing would be measured. */
async function stateIsOn(): Promise<void> {
  while (!(await accepts(COUNTING_PORT + 1))) await sleep(50);
  const response = await fetchControl('/gap');
  const { census } = (await response.json()) as { census?: { state?: string; reason?: string | null } };
  if (census?.state !== 'on') throw new Error(`the census is ${census?.state}: ${census?.reason}`);
}

const percent = (share: number): string => `${(share * 100).toFixed(3)} %`;

function table(results: readonly Result[]): string {
  const lines = results.map(({ what, rows, withCensus, withoutCensus, timer, census, bar }) =>
    [
      what.padEnd(6),
      String(rows).padStart(6),
      percent(withCensus).padStart(10),
      percent(withoutCensus).padStart(10),
      percent(timer).padStart(10),
      percent(census).padStart(10),
      percent(bar).padStart(10),
    ].join('  '),
  );
  return ['          rows  with census     without       timer      census         bar', ...lines].join('\n');
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '40' },
      rows: { type: 'string', default: '800' },
      json: { type: 'boolean', default: false },
    },
  });
  const seconds = integerUpTo('--seconds', values.seconds, 600);
  const rows = integerUpTo('--rows', values.rows, 20_000);
  if (!existsSync(SIDECAR)) throw new Error(`${SIDECAR} does not exist; run make build`);
  if (process.env[INSIDE] === undefined) {
    const args = ['--net', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    const child = spawn('unshare', args, { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  }
  const results = await measureInside(seconds, rows);
  console.log(values.json ? JSON.stringify(results) : table(results));
  const dear = results.filter(({ census, bar }) => census > bar);
  for (const { what, census, bar } of dear)
    process.stderr.write(`${what}: ${percent(census)} of a core; the bar is ${percent(bar)}\n`);
  return dear.length === 0 ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`the benchmark cannot run: ${(error as Error).message}\n`);
  return 1;
});
