import { check, load, type Load, type LoadOptions } from './load.ts';
import { cpuMs } from './processes.ts';
import type { Measurement } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import type { RunningTarget } from './targets.ts';

export interface RoundOptions extends LoadOptions {
  /** Default: those of the proxies. */
  scenarios?: readonly Scenario[];
  rounds: number;
  /** Requests to each target in each scenario before the rounds; default 25,000. */
  warmUpRequests?: number;
  log: (line: string) => void;
}

/** V8 optimises code that runs often. Measurements before that are not representative. */
const WARM_UP = { requests: 25_000, loads: 30 };

/**
 * With more targets, each would be idle for so long between its loads (8 seconds) that V8 drops its optimised code to free memory.
 * It would then be measured while V8 compiles the code again.
 */
export const MAX_TARGETS = 5;

/**
 * Measures at most `MAX_TARGETS` targets in turn, in every scenario and round, so that other load on the machine affects all targets
 * equally. The order of the targets alternates, because a target may profit from what ran before it.
 */
export async function measureRounds(
  targets: readonly RunningTarget[],
  options: RoundOptions,
): Promise<Measurement[]> {
  if (targets.length > MAX_TARGETS) throw new Error(`more than ${MAX_TARGETS} targets`);
  const measured: Measurement[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    options.log(round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`);
    for (const scenario of options.scenarios ?? SCENARIOS) {
      const workloads = targets.map(({ name, prefix, pid, port }) => ({ name, pid, port, prefix, scenario }));
      if (round === 0) await warmUp(workloads, options);
      else
        for (const workload of round % 2 === 0 ? workloads : workloads.toReversed()) {
          const result = await named(workload, () => measureOnce(workload, workload.pid, options));
          measured.push({ target: workload.name, scenario: scenario.name, round, ...result });
        }
    }
  }
  return measured;
}

interface NamedLoad extends Load {
  name: string;
}

/** Adds the target and the scenario to an error. */
async function named<T>({ name, scenario }: NamedLoad, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new Error(`${name}, ${scenario.name}: ${(cause as Error).message}`, { cause });
  }
}

/** Sends requests in turn until V8 has optimised all targets. */
export async function warmUp(
  workloads: readonly NamedLoad[],
  options: LoadOptions & { warmUpRequests?: number },
): Promise<void> {
  const { warmUpRequests = WARM_UP.requests } = options;
  const requests = workloads.map(() => 0);
  for (let loads = 0; loads < WARM_UP.loads && Math.min(...requests) < warmUpRequests; loads++)
    for (const [index, workload] of workloads.entries()) {
      const sent = await named(workload, () => load(workload, options));
      requests[index] = (requests[index] ?? 0) + sent.requests;
    }
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
