import { parseArgs } from 'node:util';
import { BASELINES, TARGETS } from './targets.ts';

/** The parts of a run, in order. */
export const SECTIONS = ['throughput', 'lanes', 'record', 'latency', 'start', 'heap'] as const;
export type Section = (typeof SECTIONS)[number];

export interface BenchOptions {
  help: boolean;
  json: boolean;
  /** Exit with 1 if a bar is missed. */
  bars: boolean;
  /** Write the results for the documentation. */
  save: boolean;
  sections: readonly Section[];
  rounds: number;
  /** Target names; null: all targets. */
  targets: readonly string[] | null;
  /** Paths of other builds of the sidecar. */
  others: readonly string[];
}

export const HELP = `Usage: npm run bench -- [options]

Measure throughput, latency, processor time, memory and start of the sidecar, with the heap that it has in a pod, and of other
proxies in front of the same agent. A run of all sections takes about a quarter of an hour.

  --section NAME    Run only this section; may be repeated: ${SECTIONS.join(', ')}
  --rounds N        Number of rounds after the warm-up (1..100, default 5)
  --target NAME     Throughput of only this target, ${BASELINES.join(' and ')}; may be repeated:
                    ${TARGETS.map(({ name }) => `'${name}'`).join(', ')}
  --other PATH      Throughput: also run another build of the sidecar (its main.js), in mode track with headers; may be repeated
  --bars            Exit with 1 if a bar is missed
  --save            Write the results to bench/results.json, for the documentation; only with all sections and targets
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
        bars: { type: 'boolean', default: false },
        save: { type: 'boolean', default: false },
        section: { type: 'string', multiple: true },
        rounds: { type: 'string', default: '5' },
        target: { type: 'string', multiple: true },
        other: { type: 'string', multiple: true, default: [] },
      },
    });
    const { help, json, bars, save, section, target, other } = values;
    if (save && (section ?? target) !== undefined)
      throw new Error('--save: must be used without --section and --target');
    const sections = section?.map((name) => oneOf('--section', name, SECTIONS)) ?? SECTIONS;
    const names = TARGETS.map(({ name }) => name);
    return {
      ok: true,
      options: {
        ...{ help, json, bars, save },
        sections: SECTIONS.filter((name) => sections.includes(name)),
        rounds: integerUpTo('--rounds', values.rounds, 100),
        targets: target?.map((name) => oneOf('--target', name, names)) ?? null,
        others: other,
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

/** Returns the accepted value. Throws an error that names the option and its accepted values. */
export function oneOf<T extends string>(option: string, raw: string, accepted: readonly T[]): T {
  const found = accepted.find((each) => each === raw);
  if (found === undefined) throw new Error(`${option}=${raw}: must be one of ${accepted.join(', ')}`);
  return found;
}
