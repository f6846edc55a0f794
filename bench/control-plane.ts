// Measures the control plane with simulated agents: processor time, memory and latency.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { whyNoDebianServers } from '../testing/machine/debian-server.ts';
import {
  CONTROL_PLANE_HELP,
  readControlPlaneOptions,
  type ControlPlaneOptions,
} from './control-plane-options.ts';
import { openBackend, startReplica } from './control-plane-targets.ts';
import { INTERVAL_SECONDS, load, type LoadResult } from './heartbeats.ts';
import { cpuMs, pin, prioritize, PROCESSORS, residentMb } from './processes.ts';
import { renderColumns } from './report.ts';
import { injectedAgents, registeredAgents } from './simulated-agents.ts';

/** How often the memory is read, in milliseconds. */
const SAMPLE_MS = 500;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

interface Measurement extends LoadResult {
  agents: number;
  /** Processor time by elapsed time: 1 is one processor. */
  cores: number;
  /** The same of the server next to the control plane, if it has one. */
  neighbourCores: number | null;
  /** The largest resident memory, in megabytes. */
  rssMb: number;
}

/** Starts the control plane, creates the agents, sends one interval of heartbeats as warm-up, then measures. */
async function bench(
  { store, agents: count, seconds }: ControlPlaneOptions,
  directory: string,
): Promise<Measurement> {
  const opened: { close(): Promise<void> }[] = [];
  const startedAt = new Date().toISOString();
  try {
    const backend = await openBackend(store, directory);
    opened.push(backend);
    const started = await startReplica(backend, directory);
    opened.push(started);
    const { pid, endpoint } = started;
    if (!prioritize())
      log('no permission for a higher priority: the latencies contain waits of the load generator');
    log(`creating ${count} agents`);
    const { kubeconfig } = backend;
    const agents = await (kubeconfig === null
      ? registeredAgents(endpoint, count)
      : injectedAgents(kubeconfig, count));
    log('warm-up');
    await load(agents, endpoint, { seconds: INTERVAL_SECONDS, startedAt });
    log(`${seconds} seconds`);
    let rssMb = 0;
    const sampling = setInterval(() => (rssMb = Math.max(rssMb, residentMb(pid))), SAMPLE_MS);
    const times = (): number[] => [cpuMs(pid), backend.neighbour?.cpuMs() ?? NaN];
    const before = times();
    const begin = performance.now();
    const result = await load(agents, endpoint, { seconds, startedAt });
    const elapsedMs = performance.now() - begin;
    clearInterval(sampling);
    const [cores = NaN, other = NaN] = times().map(
      (time, index) => (time - (before[index] ?? NaN)) / elapsedMs,
    );
    return { agents: count, ...result, cores, neighbourCores: backend.neighbour && other, rssMb };
  } finally {
    for (const each of opened.reverse()) await each.close();
  }
}

function render(measured: Measurement): string {
  const { agents, accepted, errors, cores, neighbourCores, rssMb, p50Ms, p99Ms, lateMs } = measured;
  const failed = Object.values(errors).reduce((sum, each) => sum + each, 0);
  return [
    renderColumns([
      [
        'agents',
        'heartbeats',
        'errors',
        'cores',
        'cores next to it',
        'RSS MB',
        'p50 ms',
        'p99 ms',
        'late ms',
      ],
      [
        ...[agents, accepted, failed].map(String),
        ...[cores.toFixed(3), neighbourCores?.toFixed(3) ?? '-', rssMb.toFixed(0)],
        ...[p50Ms, p99Ms, lateMs].map((value) => value.toFixed(1)),
      ],
    ]),
    ...Object.entries(errors).map(([error, times]) => `${times} × ${error}`),
    ...(PROCESSORS === null ? ['processes were not pinned: the load and the target shared processors'] : []),
  ].join('\n');
}

function missingPrerequisite({ store }: ControlPlaneOptions): string | undefined {
  if (process.platform !== 'linux')
    return 'it requires Linux, because it reads processor time and memory from /proc';
  if (!existsSync('dist/control-plane/main.js'))
    return 'dist/control-plane/main.js does not exist; run make build';
  if (store === 'kubernetes') return whyNoControlPlane();
  return store === 'postgres' ? whyNoDebianServers() : undefined;
}

async function main(args: string[]): Promise<number> {
  const read = readControlPlaneOptions(args);
  if (!read.ok) {
    log(`${read.problem}\n\n${CONTROL_PLANE_HELP}`);
    return 1;
  }
  const { options } = read;
  if (options.help) {
    console.log(CONTROL_PLANE_HELP);
    return 0;
  }
  const missing = missingPrerequisite(options);
  if (missing !== undefined) {
    log(`the benchmark cannot run: ${missing}`);
    return 1;
  }
  pin(process.pid, 'others');
  const directory = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    const measured = await bench(options, directory);
    console.log(options.json ? JSON.stringify(measured, null, 2) : render(measured));
    return 0;
  } catch (error) {
    log(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await rm(directory, { recursive: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
