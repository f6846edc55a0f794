import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoDebianServers } from '../testing/debian-server.ts';
import { whyNoOpa } from '../testing/opa.ts';
import { check, load, type Load, type LoadOptions } from './load.ts';
import { HELP, readOptions, type BenchOptions } from './options.ts';
import { cpuMs, pin, PROCESSORS, residentMb, type Started } from './processes.ts';
import { renderTable, rowsOf, type Measurement } from './report.ts';
import { BASELINE, sidecar, startAgent, TARGETS, type Target } from './targets.ts';

type Running = Started & { port: number; target: Target };

/** V8 optimises code that runs often. Measurements before that are not representative. */
const WARM_UP = { requests: 10_000, loads: 5 };

const log = (line: string): void => void process.stderr.write(`${line}\n`);

/** Measures the targets in turn, in every scenario and round, so that other load on the machine affects all targets equally. */
async function measure(
  running: readonly Running[],
  options: BenchOptions,
  directory: string,
): Promise<Measurement[]> {
  const measured: Measurement[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    log(round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`);
    for (const scenario of options.scenarios)
      for (const { target, pid, port } of running) {
        const workload = { port, prefix: target.prefix, scenario };
        try {
          if (round === 0) await warmUp(workload, { ...options, seconds: 1, directory });
          else {
            const result = await measureOnce(workload, pid, { ...options, directory });
            measured.push({ target: target.name, scenario: scenario.name, round, ...result });
          }
        } catch (cause) {
          throw new Error(`${target.name}, ${scenario.name}: ${(cause as Error).message}`, { cause });
        }
      }
  }
  return measured;
}

async function warmUp(workload: Load, options: LoadOptions): Promise<void> {
  let requests = 0;
  for (let loads = 0; loads < WARM_UP.loads && requests < WARM_UP.requests; loads++)
    requests += (await load(workload, options)).requests;
}

async function measureOnce(
  workload: Load,
  pid: number,
  options: LoadOptions,
): Promise<Omit<Measurement, 'target' | 'scenario' | 'round'>> {
  await check(workload);
  const before = cpuMs(pid);
  const { requests, seconds, p50Ms, p99Ms } = await load(workload, options);
  const cpuUs = ((cpuMs(pid) - before) * 1000) / requests;
  await check(workload);
  return { perSecond: requests / seconds, p50Ms, p99Ms, cpuUs };
}

function targetsOf({ targets, others }: BenchOptions): Target[] {
  const noOpa = whyNoOpa();
  if (noOpa !== undefined) log(`SKIPPED: OPA: ${noOpa}`);
  const more = others.map((bundle) =>
    sidecar(bundle, { prefix: 'headers', env: { POLICY_ENGINE: 'builtin' }, bundle }),
  );
  const chosen =
    targets === null ? TARGETS : TARGETS.filter(({ name }) => name === BASELINE || targets.includes(name));
  return [...chosen.filter(({ name }) => noOpa === undefined || !name.includes('OPA')), ...more];
}

async function bench(options: BenchOptions): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-'));
  const started: Started[] = [];
  // Without targets the load ends immediately, and so does the benchmark.
  const stop = (): void => started.forEach((each) => void each.close());
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const agent = await startAgent();
    started.push(agent);
    pin(agent.pid, 'others');
    const running: Running[] = [];
    for (const target of targetsOf(options)) {
      const launched = await target.start({ agent, directory });
      started.push(launched);
      if (launched.pid !== agent.pid) pin(launched.pid, 'target');
      running.push({ ...launched, target });
    }
    const idleMb = running.map(({ pid }) => residentMb(pid));
    const rows = rowsOf(await measure(running, options, directory), BASELINE);
    const memory = running.map(({ target, pid }, index) => ({
      target: target.name,
      idleMb: idleMb[index] ?? NaN,
      afterLoadMb: residentMb(pid),
    }));
    if (options.json) {
      const { rounds, seconds, connections } = options;
      const settings = { rounds, seconds, connections, processors: PROCESSORS, baseline: BASELINE };
      console.log(JSON.stringify({ settings, rows, memory }, null, 2));
      return;
    }
    console.log(renderTable(rows, BASELINE));
    console.log('\nmemory, MB (idle, after load)');
    for (const { target, idleMb: idle, afterLoadMb } of memory)
      console.log(`${target}  ${idle.toFixed(0)}  ${afterLoadMb.toFixed(0)}`);
    if (PROCESSORS === null)
      console.log('\nprocesses were not pinned to processors: the load and the target shared processors');
  } finally {
    for (const each of started.reverse()) await each.close();
    await rm(directory, { recursive: true });
  }
}

function missingPrerequisite({ others }: BenchOptions): string | undefined {
  const unbuilt = ['dist/sidecar/main.js', ...others].find((path) => !existsSync(path));
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
  if (read.options.help) {
    console.log(HELP);
    return 0;
  }
  const missing = missingPrerequisite(read.options);
  if (missing !== undefined) {
    log(`the benchmark cannot run: ${missing}`);
    return 1;
  }
  try {
    await bench(read.options);
    return 0;
  } catch (error) {
    log((error as Error).message);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
