import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoDebianServers } from '../testing/machine/debian-server.ts';
import { whyNoOpa } from '../testing/sidecar/opa.ts';
import { judge, renderResults } from './bars.ts';
import { measureHeap } from './heap.ts';
import { measureLatency } from './latency.ts';
import { HELP, readOptions, type BenchOptions, type Section } from './options.ts';
import { prioritize, PROCESSORS, type Started } from './processes.ts';
import { machine, SAVED_RESULTS, type Results } from './results.ts';
import type { RoundOptions } from './rounds.ts';
import { measureStart } from './start.ts';
import { BASELINES, BUILTIN, BUNDLE, sidecar, TARGETS, type Target } from './targets.ts';
import { measureLanes, measureRecord, measureThroughput } from './throughput.ts';

const STARTS_PER_ROUND = 4;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

function targetsOf({ targets, others }: BenchOptions): Target[] {
  const noOpa = whyNoOpa();
  if (noOpa !== undefined) log(`SKIPPED: OPA: ${noOpa}`);
  const more = others.map((bundle) => sidecar(bundle, { prefix: 'headers', env: BUILTIN, bundle }));
  const isChosen = ({ name }: Target): boolean =>
    targets === null || targets.includes(name) || BASELINES.some((baseline) => baseline === name);
  const canRun = ({ name }: Target): boolean => noOpa === undefined || !name.includes('OPA');
  return [...TARGETS.filter((target) => isChosen(target) && canRun(target)), ...more];
}

type Measure = (opened: Started[], options: RoundOptions) => Promise<Partial<Results>>;

/** What each section adds to the results. */
const measureOf = (options: BenchOptions): Record<Section, Measure> => ({
  throughput: async (opened, rounds) => ({
    throughput: await measureThroughput(targetsOf(options), opened, rounds),
  }),
  lanes: async (opened, rounds) => ({ lanes: await measureLanes(opened, rounds) }),
  record: async (opened, rounds) => ({ record: await measureRecord(opened, rounds) }),
  latency: async (opened, rounds) => ({ latency: await measureLatency(opened, rounds) }),
  start: async (opened, rounds) => ({
    start: await measureStart(opened, { ...rounds, rounds: rounds.rounds * STARTS_PER_ROUND }),
  }),
  heap: async (opened, rounds) => ({ heap: await measureHeap(opened, rounds) }),
});

async function bench(options: BenchOptions): Promise<Results> {
  const { rounds } = options;
  const directory = await mkdtemp(join(tmpdir(), 'bench-'));
  const opened: Started[] = [];
  const closeAll = async (): Promise<void> => {
    for (const each of opened.splice(0).toReversed()) await each.close();
  };
  // Without targets the load ends immediately, and so does the benchmark.
  const stop = (): void => opened.forEach((each) => void each.close());
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const results: Results = { machine: machine(), settings: { rounds, pinned: PROCESSORS !== null } };
  try {
    const measures = measureOf(options);
    for (const section of options.sections) {
      log(`section ${section}`);
      Object.assign(results, await measures[section](opened, { rounds, directory, log }));
      await closeAll();
    }
    return results;
  } finally {
    await closeAll();
    await rm(directory, { recursive: true });
  }
}

function missingPrerequisite({ others }: BenchOptions): string | undefined {
  const unbuilt = [BUNDLE, ...others].find((path) => !existsSync(path));
  if (unbuilt !== undefined) return `${unbuilt} does not exist; run make build`;
  return process.platform === 'linux'
    ? whyNoDebianServers()
    : 'it requires Linux, because it reads processor time and memory from /proc';
}

async function main(args: string[]): Promise<number> {
  const read = readOptions(args);
  if (!read.ok) {
    log(`${read.problem}\n\n${HELP}`);
    return 1;
  }
  const { options } = read;
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const missing = missingPrerequisite(options);
  if (missing !== undefined) {
    log(`the benchmark cannot run: ${missing}`);
    return 1;
  }
  if (!prioritize())
    log('without root, other work on the machine has the same priority and affects the latencies');
  try {
    const results = await bench(options);
    const judged = judge(results);
    console.log(
      options.json ? JSON.stringify({ ...results, bars: judged }, null, 2) : renderResults(results),
    );
    if (PROCESSORS === null)
      log('\nprocesses were not pinned to processors: the load and the target shared processors');
    if (options.save) writeFileSync(SAVED_RESULTS, `${JSON.stringify(results, null, 2)}\n`);
    return options.bars && judged.some(({ isMet }) => !isMet) ? 1 : 0;
  } catch (error) {
    log((error as Error).message);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
