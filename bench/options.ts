import { parseArgs } from 'node:util';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { BASELINE, TARGETS } from './targets.ts';

export interface BenchOptions {
  help: boolean;
  json: boolean;
  rounds: number;
  seconds: number;
  connections: number;
  scenarios: readonly Scenario[];
  /** Target names; null: all targets. */
  targets: readonly string[] | null;
  /** Paths of other builds of the sidecar. */
  others: readonly string[];
}

export const HELP = `Usage: npm run bench -- [options]

Measure throughput, latency, processor time and memory of the sidecar and of other proxies in front of the same agent.
Results are multiples of ${BASELINE}. A run takes about three minutes.

  --rounds N        Number of rounds after the warm-up (1..100, default 3)
  --seconds N       Seconds of load per target and scenario in a round (1..60, default 1)
  --connections N   Number of concurrent connections (1..1000, default 32)
  --scenario NAME   Run only this scenario; may be repeated: ${SCENARIOS.map(({ name }) => name).join(', ')}
  --target NAME     Run only this target and ${BASELINE}; may be repeated:
                    ${TARGETS.map(({ name }) => `'${name}'`).join(', ')}
  --other PATH      Also run another build of the sidecar (its main.js), in mode track with headers; may be repeated
  --json            Print the complete result as JSON
  --help            Print this help`;

type Read = { ok: true; options: BenchOptions } | { ok: false; problem: string };

/** Parses the command line. The problem names the option and its accepted values. */
export function readOptions(args: readonly string[]): Read {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '1' },
        connections: { type: 'string', default: '32' },
        scenario: { type: 'string', multiple: true },
        target: { type: 'string', multiple: true },
        other: { type: 'string', multiple: true, default: [] },
      },
    });
    const known = SCENARIOS.map(({ name }) => name);
    const chosen = values.scenario?.map((name) => oneOf('--scenario', name, known)) ?? known;
    const names = TARGETS.map(({ name }) => name);
    return {
      ok: true,
      options: {
        help: values.help,
        json: values.json,
        rounds: integerUpTo('--rounds', values.rounds, 100),
        seconds: integerUpTo('--seconds', values.seconds, 60),
        connections: integerUpTo('--connections', values.connections, 1000),
        scenarios: SCENARIOS.filter(({ name }) => chosen.includes(name)),
        targets: values.target?.map((name) => oneOf('--target', name, names)) ?? null,
        others: values.other,
      },
    };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}

/** Parses an integer from 1 to `max`. Throws an error that names the option and its accepted values. */
export function integerUpTo(option: string, raw: string, max: number): number {
  const value = Number(raw);
  if (!/^\d+$/.test(raw) || value < 1 || value > max)
    throw new Error(`${option}=${raw}: must be an integer from 1 to ${max}`);
  return value;
}

function oneOf<T extends string>(option: string, raw: string, accepted: readonly T[]): T {
  const found = accepted.find((each) => each === raw);
  if (found === undefined) throw new Error(`${option}=${raw}: must be one of ${accepted.join(', ')}`);
  return found;
}
