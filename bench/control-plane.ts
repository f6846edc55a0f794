// Measures the control plane with simulated agents: processor time, memory and latency by number of agents.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { whyNoDebianServers } from '../testing/debian-server.ts';
import {
  CONTROL_PLANE_HELP,
  readControlPlaneOptions,
  type ControlPlaneOptions,
} from './control-plane-options.ts';
import { projectionsOf, ratioOf, renderSteps, type Step } from './control-plane-report.ts';
import {
  makeCertificates,
  openBackend,
  startBareRoute,
  startReplica,
  type Backend,
  type Target,
} from './control-plane-targets.ts';
import { heartbeatOf, INTERVAL_SECONDS, load, type SimulatedAgent } from './heartbeats.ts';
import { cpuMs, pin, prioritize, residentMb } from './processes.ts';
import { injectedAgents, registeredAgents } from './simulated-agents.ts';
import { readReviews, reviewsBetween } from './token-reviews.ts';

/** How often the memory is read, in milliseconds. */
const SAMPLE_MS = 500;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

interface Measuring {
  target: Step['target'];
  targets: readonly Target[];
  backend: Backend;
  agents: readonly SimulatedAgent[];
  startedAt: string;
  seconds: number;
}

/** Sends one interval of heartbeats as warm-up, then measures. */
async function measure({ target, targets, backend, agents, startedAt, seconds }: Measuring): Promise<Step> {
  const endpoints = targets.map(({ endpoint }) => endpoint);
  log(`${target}, ${agents.length} agents: warm-up`);
  await load(agents, endpoints, { seconds: INTERVAL_SECONDS, startedAt });
  log(`${target}, ${agents.length} agents: ${seconds} seconds`);
  let rssMb = 0;
  const sampling = setInterval(() => {
    rssMb = Math.max(rssMb, ...targets.map(({ pid }) => residentMb(pid)));
  }, SAMPLE_MS);
  const times = (): number[] => [
    targets.reduce((sum, { pid }) => sum + cpuMs(pid), 0),
    ...backend.neighbours.map((each) => each.cpuMs()),
  ];
  const reviewed = await readReviews(endpoints);
  const before = times();
  const begin = performance.now();
  const result = await load(agents, endpoints, { seconds, startedAt });
  const elapsedMs = performance.now() - begin;
  clearInterval(sampling);
  const [cores = NaN, ...others] = times().map((time, index) => (time - (before[index] ?? NaN)) / elapsedMs);
  const reviews = reviewsBetween(reviewed, await readReviews(endpoints));
  return {
    ...{ target, agents: agents.length, replicas: targets.length, ...result, cores, rssMb, reviews },
    neighbours: Object.fromEntries(backend.neighbours.map(({ name }, index) => [name, others[index] ?? NaN])),
  };
}

/** Measures the control plane with each number of agents, then the bare route with the largest number. */
async function bench(options: ControlPlaneOptions, directory: string): Promise<Step[]> {
  const steps: Step[] = [];
  const opened: { close(): Promise<void> }[] = [];
  const startedAt = new Date().toISOString();
  try {
    const certificates = options.tls ? await makeCertificates(directory) : null;
    const backend = await openBackend(options, directory);
    opened.push(backend);
    const targets: Target[] = [];
    for (let replica = 0; replica < options.replicas; replica += 1) {
      targets.push(await startReplica(backend, certificates));
      opened.push(...targets.slice(-1));
    }
    const [first] = targets;
    if (first === undefined) return steps;
    if (!prioritize())
      log('no permission for a higher priority: the latencies contain waits of the load generator');
    const { kubeconfig } = backend;
    const factory = await (kubeconfig === null
      ? registeredAgents(first.endpoint)
      : injectedAgents(kubeconfig));
    opened.push(factory);
    const agents: SimulatedAgent[] = [];
    for (const count of options.agents) {
      log(`creating agents ${agents.length + 1} to ${count}`);
      agents.push(...(await factory.create(agents.length, count)));
      const { seconds } = options;
      steps.push(await measure({ target: 'control plane', targets, backend, agents, startedAt, seconds }));
    }
    if (backend.bareEnv === null) return steps;
    // Otherwise the control plane would mark its agents as stale in the meantime.
    for (const each of targets) await each.close();
    const bare = await startBareRoute(backend.bareEnv, certificates);
    opened.push(bare);
    const { seconds } = options;
    steps.push(await measure({ target: 'bare route', targets: [bare], backend, agents, startedAt, seconds }));
    return steps;
  } finally {
    for (const each of opened.reverse()) await each.close();
  }
}

function missingPrerequisite({ store, cluster }: ControlPlaneOptions): string | undefined {
  if (process.platform !== 'linux')
    return 'it requires Linux, because it reads processor time and memory from /proc';
  if (!existsSync('dist/control-plane/main.js'))
    return 'dist/control-plane/main.js does not exist; run make build';
  const noCluster = store === 'kubernetes' || cluster ? whyNoControlPlane() : undefined;
  return noCluster ?? (store === 'postgres' ? whyNoDebianServers() : undefined);
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
    const steps = await bench(options, directory);
    const { store, cluster, seconds, replicas, tls } = options;
    const sample = heartbeatOf({ name: 'agent-1', bearer: '', seq: 1 }, 0, new Date().toISOString());
    const settings = {
      ...{ store, cluster, seconds, replicas, tls, intervalSeconds: INTERVAL_SECONDS },
      heartbeatBytes: Buffer.byteLength(sample),
    };
    const ratio = ratioOf(steps);
    const projections = projectionsOf(steps);
    console.log(
      options.json ? JSON.stringify({ settings, steps, ratio, projections }, null, 2) : renderSteps(steps),
    );
    return 0;
  } catch (error) {
    log(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await rm(directory, { recursive: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
