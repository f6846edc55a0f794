import { parseArgs } from 'node:util';
import { integerUpTo, oneOf } from './options.ts';

const STORES = ['sqlite', 'postgres', 'kubernetes'] as const;
export type StoreName = (typeof STORES)[number];

export interface ControlPlaneOptions {
  help: boolean;
  json: boolean;
  store: StoreName;
  agents: number;
  seconds: number;
}

const DEFAULT_AGENTS = { sqlite: '10000', postgres: '10000', kubernetes: '2000' };
const MOST_AGENTS = 20_000;

export const CONTROL_PLANE_HELP = `Usage: npm run bench:control-plane -- [options]

Measure the control plane with simulated agents that send a heartbeat every 30 seconds: processor time, memory and latency.

  --store NAME     ${STORES.join(', ')} (default sqlite)
  --agents N       Number of agents (1..${MOST_AGENTS}, default ${DEFAULT_AGENTS.sqlite}; with kubernetes ${DEFAULT_AGENTS.kubernetes})
  --seconds N      Seconds of the measurement, after one interval of warm-up (30..3600, default 60)
  --json           Print the measurement as JSON
  --help           Print this help`;

type Read = { ok: true; options: ControlPlaneOptions } | { ok: false; problem: string };

/** Parses the command line. The problem names the option and its accepted values. */
export function readControlPlaneOptions(args: readonly string[]): Read {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        store: { type: 'string', default: 'sqlite' },
        agents: { type: 'string' },
        seconds: { type: 'string', default: '60' },
      },
    });
    const store = oneOf('--store', values.store, STORES);
    const agents = integerUpTo('--agents', values.agents ?? DEFAULT_AGENTS[store], MOST_AGENTS);
    const seconds = integerUpTo('--seconds', values.seconds, 3_600);
    if (seconds < 30) throw new Error(`--seconds=${seconds}: must be an integer from 30 to 3600`);
    const { help, json } = values;
    return { ok: true, options: { help, json, store, agents, seconds } };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}
