// Measures the cost of the injector: dry-run pod creations through a real API server, alternating between the webhook as in
// its image and a webhook that only returns `allowed`.
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { optedInPod } from '../testing/pods.ts';
import { TestServers } from '../testing/sockets.ts';
import { WebhookCluster } from '../testing/webhook-cluster.ts';
import { integerUpTo } from './options.ts';
import { cpuMs, startNode, type Started } from './processes.ts';
import { spreadOf } from './report.ts';

const TARGETS = ['injects', 'allows'] as const;
type Name = (typeof TARGETS)[number];

type Target = Started & { port: number };

interface Options {
  /** Creations per second. */
  rate: number;
  rounds: number;
  seconds: number;
}

interface Round {
  target: Name;
  round: number;
  p50Ms: number;
  p99Ms: number;
  /** User and system time of the webhook's process per creation, in milliseconds. */
  cpuMs: number;
}

const HELP = `Usage: npm run bench:webhook -- [options]

Measure the cost of the injection webhook.

  --rate N      Dry-run creations per second (1..1000, default 200)
  --rounds N    Number of rounds after the warm-up (1..100, default 5)
  --seconds N   Seconds of load per target in a round (1..60, default 4)
  --json        Print the rounds as JSON
  --help        Print this help`;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

/** Creates a pod. Returns whether `target` handled the request. */
async function create(cluster: WebhookCluster, target: Name): Promise<boolean> {
  const response = await cluster.create(optedInPod());
  return response.ok && (response.body.spec.initContainers?.length ?? 0) === (target === 'injects' ? 1 : 0);
}

/**
 * Creates pods at a constant rate, independent of the latency. Returns the sorted latencies in milliseconds. Rejects if a pod is
 * wrong.
 */
async function load(cluster: WebhookCluster, target: Name, { rate, seconds }: Options): Promise<number[]> {
  const latencies: number[] = [];
  const createOne = async (): Promise<void> => {
    const started = performance.now();
    if (!(await create(cluster, target))) throw new Error(`${target}: unexpected pod or failed creation`);
    latencies.push(performance.now() - started);
  };
  const open: Promise<void>[] = [];
  const begin = performance.now();
  for (let index = 0; index < rate * seconds; index += 1) {
    const early = begin + (index * 1000) / rate - performance.now();
    if (early > 0) await sleep(early);
    open.push(createOne());
  }
  await Promise.all(open);
  return latencies.sort((a, b) => a - b);
}

async function startTargets(cluster: WebhookCluster, directory: string): Promise<Record<Name, Target>> {
  const servers = new TestServers();
  const port = await servers.closedPort();
  // Heap size and log level as in the chart's container.
  const chart = await cluster.configure([]);
  const own = { SIDECAR_IMAGE: 'agent-compliance/sidecar:0.1.0', KUBECONFIG: cluster.kubeconfig };
  const injects = await startNode('dist/webhook/main.js', port, { ...chart, PORT: String(port), ...own });
  while ((await cluster.caBundle()) === '') await sleep(100);
  const leaf = await cluster.secret('agent-compliance-webhook-tls');
  const [CERT_FILE, KEY_FILE] = [join(directory, 'bench.crt'), join(directory, 'bench.key')];
  await writeFile(CERT_FILE, leaf['tls.crt'] ?? '');
  await writeFile(KEY_FILE, leaf['tls.key'] ?? '');
  const other = await servers.closedPort();
  const bare = join(import.meta.dirname, 'servers/bare-webhook.ts');
  const { NODE_OPTIONS = '' } = chart;
  const allows = await startNode(bare, other, { PORT: String(other), CERT_FILE, KEY_FILE, NODE_OPTIONS });
  return { injects: { ...injects, port }, allows: { ...allows, port: other } };
}

async function measure(cluster: WebhookCluster, options: Options): Promise<Round[]> {
  const targets = await startTargets(cluster, dirname(cluster.kubeconfig));
  // Removes the guard, which would reject the pods that the bare webhook does not inject.
  await cluster.kubectl(['delete', 'validatingadmissionpolicybinding', '--all']);
  const rounds: Round[] = [];
  try {
    for (let round = 0; round <= options.rounds; round += 1) {
      log(round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`);
      for (const name of TARGETS) {
        const { pid, port } = targets[name];
        await cluster.pointTo(port);
        while (!(await create(cluster, name))) await sleep(50);
        const before = cpuMs(pid);
        const latencies = await load(cluster, name, options);
        const cpu = (cpuMs(pid) - before) / latencies.length;
        const [p50Ms, p99Ms] = [at(latencies, 0.5), at(latencies, 0.99)];
        if (round > 0) rounds.push({ target: name, round, p50Ms, p99Ms, cpuMs: cpu });
      }
    }
    return rounds;
  } finally {
    await Promise.all(TARGETS.map((name) => targets[name].close()));
  }
}

const at = (sorted: readonly number[], part: number): number =>
  sorted[Math.floor(sorted.length * part)] ?? NaN;

function render(rounds: readonly Round[]): string {
  const of = (name: Name): Round[] => rounds.filter(({ target }) => target === name);
  const median = (values: readonly number[], digits: number): string => {
    const { min, median: middle, max } = spreadOf(values);
    return `${middle.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)})`;
  };
  const bare = of('allows');
  const lines = TARGETS.map((name) => {
    const own = of(name);
    const column = (title: string, digits: number, value: (each: Round, index: number) => number): string =>
      `${title} ${median(own.map(value), digits)}`;
    return [
      `${name.padEnd(8)} ${column('cpu ms/review', 2, ({ cpuMs: cpu }) => cpu)}`,
      column('cpu × allows', 2, ({ cpuMs: cpu }, index) => cpu / (bare[index]?.cpuMs ?? NaN)),
      column('p50 ms', 1, ({ p50Ms }) => p50Ms),
      column('p99 ms', 1, ({ p99Ms }) => p99Ms),
      column('p99 × allows', 2, ({ p99Ms }, index) => p99Ms / (bare[index]?.p99Ms ?? NaN)),
    ].join('  ');
  });
  return lines.join('\n');
}

function readOptions(args: string[]): Options & { help: boolean; json: boolean } {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      rate: { type: 'string', default: '200' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '4' },
    },
  });
  const { help, json, rate, rounds, seconds } = values;
  return {
    help,
    json,
    rate: integerUpTo('--rate', rate, 1000),
    rounds: integerUpTo('--rounds', rounds, 100),
    seconds: integerUpTo('--seconds', seconds, 60),
  };
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const why = whyNoControlPlane();
  if (options.help || why !== undefined) {
    log(options.help ? HELP : `SKIPPED: ${why}`);
    return;
  }
  const cluster = await WebhookCluster.open();
  try {
    const rounds = await measure(cluster, options);
    console.log(options.json ? JSON.stringify(rounds, null, 2) : render(rounds));
  } finally {
    await cluster.close();
  }
}

await main().catch((error: unknown) => {
  log((error as Error).message);
  process.exitCode = 1;
});
