// What the injector costs: dry-run creations through a real API server, with the webhook as its image runs it and with one
// that answers `allowed` and nothing else, in turn.
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { optedInPod } from '../testing/pods.ts';
import { TestServers } from '../testing/sockets.ts';
import { WebhookCluster } from '../testing/webhook-cluster.ts';
import { within } from './options.ts';
import { cpuMs, startNode, type Started } from './processes.ts';
import { spreadOf } from './report.ts';

const TARGETS = ['injects', 'allows'] as const;
type Name = (typeof TARGETS)[number];

type Target = Started & { port: number };

interface Options {
  /** Creations a second. */
  rate: number;
  rounds: number;
  seconds: number;
}

interface Round {
  target: Name;
  round: number;
  p50Ms: number;
  p99Ms: number;
  /** User and system time of the webhook's process for a creation, milliseconds. */
  cpuMs: number;
}

const HELP = `Usage: npm run bench:webhook -- [options]

  --rate N      dry-run creations a second (default 200)
  --rounds N    rounds after the warm-up (default 5)
  --seconds N   of each target in a round (default 4)
  --json        the rounds as JSON`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Did the webhook that is asked now answer? */
async function create(cluster: WebhookCluster, target: Name): Promise<boolean> {
  const answer = await cluster.create(optedInPod());
  return answer.ok && (answer.body.spec.initContainers?.length ?? 0) === (target === 'injects' ? 1 : 0);
}

/** Creates at an even rate, however long answers take: milliseconds of each. Rejects when a pod is not as it should be. */
async function load(cluster: WebhookCluster, target: Name, { rate, seconds }: Options): Promise<number[]> {
  const waits: number[] = [];
  const one = async (): Promise<void> => {
    const started = performance.now();
    if (!(await create(cluster, target))) throw new Error(`${target}: a pod is not as it should be`);
    waits.push(performance.now() - started);
  };
  const open: Promise<void>[] = [];
  const begin = performance.now();
  for (let index = 0; index < rate * seconds; index += 1) {
    const early = begin + (index * 1000) / rate - performance.now();
    if (early > 0) await sleep(early);
    open.push(one());
  }
  await Promise.all(open);
  return waits.sort((a, b) => a - b);
}

async function startTargets(cluster: WebhookCluster, folder: string): Promise<Record<Name, Target>> {
  const servers = new TestServers();
  const port = await servers.closedPort();
  // As the chart's container has it: the heap, and what is logged.
  const chart = await cluster.configure([]);
  const own = { SIDECAR_IMAGE: 'agent-compliance/sidecar:0.1.0', KUBECONFIG: cluster.kubeconfig };
  const injects = await startNode('dist/webhook/main.js', port, { ...chart, PORT: String(port), ...own });
  while ((await cluster.caBundle()) === '') await sleep(100);
  const leaf = await cluster.secret('agent-compliance-webhook-tls');
  const [CERT_FILE, KEY_FILE] = [join(folder, 'bench.crt'), join(folder, 'bench.key')];
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
  // Without the guard, which would refuse what the other webhook only allows.
  await cluster.kubectl(['delete', 'validatingadmissionpolicybinding', '--all']);
  const rounds: Round[] = [];
  try {
    for (let round = 0; round <= options.rounds; round += 1) {
      say(round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`);
      for (const name of TARGETS) {
        const { pid, port } = targets[name];
        await cluster.pointTo(port);
        while (!(await create(cluster, name))) await sleep(50);
        const before = cpuMs(pid);
        const waits = await load(cluster, name, options);
        const cpu = (cpuMs(pid) - before) / waits.length;
        if (round > 0)
          rounds.push({ target: name, round, p50Ms: at(waits, 0.5), p99Ms: at(waits, 0.99), cpuMs: cpu });
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
    rate: within('--rate', rate, 1000),
    rounds: within('--rounds', rounds, 100),
    seconds: within('--seconds', seconds, 60),
  };
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const why = whyNoControlPlane();
  if (options.help || why !== undefined) {
    say(options.help ? HELP : `SKIPPED: ${why}`);
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
  say((error as Error).message);
  process.exitCode = 1;
});
