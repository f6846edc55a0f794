import { check, load, type Load, type LoadOptions } from './load.ts';
import { cpuMs } from './processes.ts';
import type { Measurement } from './report.ts';
import type { Scenario } from './scenarios.ts';
import type { RunningTarget } from './targets.ts';

export interface RoundOptions extends LoadOptions {
  scenarios: readonly Scenario[];
  rounds: number;
  /** Requests to each target in each scenario before the rounds; default 10,000. */
  warmUpRequests?: number;
  log: (line: string) => void;
}

/** V8 optimises code that runs often. Measurements before that are not representative. */
const WARM_UP = { requests: 10_000, loads: 30 };

/**
 * Measures the targets in turn, in every scenario and round, so that other load on the machine affects all targets equally. The order
 * of the targets alternates, because a target may profit from what ran before it.
 */
export async function measureRounds(
  targets: readonly RunningTarget[],
  options: RoundOptions,
): Promise<Measurement[]> {
  const measured: Measurement[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    options.log(round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`);
    for (const scenario of options.scenarios)
      for (const { name, prefix, pid, port } of round % 2 === 0 ? targets : targets.toReversed()) {
        const workload = { port, prefix, scenario };
        try {
          if (round === 0) await warmUp(workload, options);
          else {
            const result = await measureOnce(workload, pid, options);
            measured.push({ target: name, scenario: scenario.name, round, ...result });
          }
        } catch (cause) {
          throw new Error(`${name}, ${scenario.name}: ${(cause as Error).message}`, { cause });
        }
      }
  }
  return measured;
}

/** Sends requests until V8 has optimised the target. */
export async function warmUp(
  workload: Load,
  options: LoadOptions & { warmUpRequests?: number },
): Promise<void> {
  const { warmUpRequests = WARM_UP.requests } = options;
  let requests = 0;
  for (let loads = 0; loads < WARM_UP.loads && requests < warmUpRequests; loads++)
    requests += (await load(workload, { ...options, seconds: 1 })).requests;
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
