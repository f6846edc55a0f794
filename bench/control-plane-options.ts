import { parseArgs } from 'node:util';
import { integerUpTo } from './options.ts';

const STORES = ['sqlite', 'postgres', 'kubernetes'] as const;

export interface ControlPlaneOptions {
  help: boolean;
  json: boolean;
  store: (typeof STORES)[number];
  /** With a database: also write AgentObservations, as in a pod. */
  cluster: boolean;
  replicas: number;
  /** Ascending. */
  agents: number[];
  seconds: number;
  tls: boolean;
}

const DEFAULT_AGENTS = {
  sqlite: '2500,5000,10000',
  postgres: '2500,5000,10000',
  kubernetes: '500,1000,2000',
};
const MOST_AGENTS = 20_000;

export const CONTROL_PLANE_HELP = `Usage: npm run bench:control-plane -- [options]

Measure the control plane with simulated agents that send a heartbeat every 30 seconds: processor time, memory and latency for
each number of agents, and the same for a bare Express route with the largest number. A run with a database takes about eight
minutes.

  --store NAME     ${STORES.join(', ')} (default sqlite)
  --cluster        With a database: also write the AgentObservations of a cluster, as in a pod
  --agents LIST    Numbers of agents, ascending, up to ${MOST_AGENTS} (default ${DEFAULT_AGENTS.sqlite}; with kubernetes
                   ${DEFAULT_AGENTS.kubernetes})
  --seconds N      Seconds of a measurement, after one interval of warm-up (30..3600, default 60)
  --replicas N     Replicas of the control plane (1..10, default 1)
  --plain          HTTP instead of TLS
  --json           Print the measurements as JSON
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
        cluster: { type: 'boolean', default: false },
        agents: { type: 'string' },
        seconds: { type: 'string', default: '60' },
        replicas: { type: 'string', default: '1' },
        plain: { type: 'boolean', default: false },
      },
    });
    const store = STORES.find((each) => each === values.store);
    if (store === undefined) throw new Error(`--store=${values.store}: must be one of ${STORES.join(', ')}`);
    const replicas = integerUpTo('--replicas', values.replicas, 10);
    if (store === 'sqlite' && replicas > 1)
      throw new Error(`--replicas=${replicas}: must be 1 with --store=sqlite, which has one process`);
    const seconds = integerUpTo('--seconds', values.seconds, 3_600);
    if (seconds < 30) throw new Error(`--seconds=${seconds}: must be an integer from 30 to 3600`);
    const { help, json, cluster, plain } = values;
    const agents = agentsIn(values.agents ?? DEFAULT_AGENTS[store]);
    return { ok: true, options: { help, json, store, cluster, replicas, agents, seconds, tls: !plain } };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}

function agentsIn(list: string): number[] {
  const numbers = list.split(',').map((each) => integerUpTo('--agents', each, MOST_AGENTS));
  if (numbers.some((each, index) => each <= (numbers[index - 1] ?? 0)))
    throw new Error(`--agents=${list}: must be ascending numbers, separated by commas`);
  return numbers;
}
