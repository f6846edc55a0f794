// The suites of test-all.mjs, in start order.
export interface Suite {
  name: string;
  /** Value for --only=. */
  group: string;
  /** A check: counts as one. */
  command?: readonly string[];
  /** A Jest run: counts its tests. */
  jest?: readonly string[];
  /** Suites that must end, with any result, before this one starts; suites that do not run are ignored. */
  after?: readonly string[];
  /** Average number of busy cores, of CAPACITY; default 1. */
  load?: number;
  /** Skipped with a message if no cluster can run. */
  needsCluster?: boolean;
  /** The command may exit with CANNOT_RUN. */
  maySkip?: boolean;
  /** Default 40. */
  timeoutMinutes?: number;
  /** Groups that --only= of this group also runs. */
  wants?: readonly string[];
}

/** Exit code of a command that is not supported on this machine and has printed the reason. */
export const CANNOT_RUN = 3;

/**
 * Number of concurrently busy cores. A suite that keeps two cores busy (unit tests, a cluster with nodes) runs alone, and so
 * does every test that needs real time.
 */
export const CAPACITY = 2;

const npm = (script: string, ...args: string[]) => ['npm', 'run', '--silent', script, ...args];
const jest = (project: string, ...flags: string[]) => npm(`test:${project}`, '--', ...flags);
/**
 * For a suite next to the suite in the cluster, which runs one file at a time and ends last: it gets the processor first, and this
 * suite what is left. With equal shares the suite in the cluster ran alone at the end, with half of the machine idle.
 */
const nice = (command: readonly string[]) => ['nice', '-n', '5', ...command];

export const SUITES: readonly Suite[] = [
  // The longest check first: the others run at the same time.
  { name: 'lint', group: 'check', command: npm('lint') },
  // One process, at the same time as the other checks.
  { name: 'Python package', group: 'integration', command: ['scripts/python-package.sh'], maySkip: true },
  { name: 'format', group: 'check', command: npm('format:check') },
  { name: 'types', group: 'check', command: npm('typecheck') },
  { name: 'layers', group: 'check', command: npm('layers') },
  { name: 'dead code', group: 'check', command: npm('dead-code') },
  { name: 'generated files', group: 'check', command: npm('generate:check') },
  { name: 'words', group: 'check', command: ['node', 'scripts/check-words.ts'] },
  { name: 'commit messages', group: 'check', command: ['node', 'scripts/check-commits.ts'] },
  { name: 'build', group: 'build', command: npm('build') },
  { name: 'test servers', group: 'integration', command: ['scripts/debian-servers.sh'], maySkip: true },
  {
    name: 'log collector',
    group: 'integration',
    command: ['env', 'ONLY=otel-collector', 'E2E_KUBECONFIG=', 'e2e/cluster/build.sh'],
    maySkip: true,
  },
  {
    name: 'cluster binaries',
    group: 'cluster',
    command: ['e2e/cluster/build.sh'],
    load: CAPACITY,
    needsCluster: true,
  },
  {
    name: 'images',
    group: 'cluster',
    command: ['e2e/images/build.sh'],
    after: ['build', 'cluster binaries'],
    needsCluster: true,
  },
  {
    name: 'kube-linter',
    group: 'integration',
    command: ['node', 'scripts/lint-chart.ts'],
    // Needs helm.
    after: ['cluster binaries'],
    maySkip: true,
  },
  // Three workers, each of which is idle for a third of the time.
  { name: 'unit', group: 'unit', jest: jest('unit', '--maxWorkers=3'), load: CAPACITY },
  // Half of the files with both cores: three workers, each idle for a third of the time. With three workers next to the cluster
  // suites, both took twice as long.
  {
    name: 'integration',
    group: 'integration',
    jest: jest('integration', '--shard=1/2', '--maxWorkers=3'),
    after: ['build', 'images', 'test servers', 'log collector'],
    load: CAPACITY,
    timeoutMinutes: 30,
  },
  // One worker and a cluster: 1.4 busy cores, measured alone.
  {
    name: 'product in the cluster',
    group: 'e2e',
    jest: jest('e2e'),
    after: ['images', 'unit'],
    needsCluster: true,
    timeoutMinutes: 40,
    wants: ['cluster', 'build'],
  },
  // Two workers, each with 0.4 busy cores including its API server.
  {
    name: 'API server',
    group: 'integration',
    jest: nice(jest('apiserver', '--maxWorkers=2')),
    after: ['build', 'cluster binaries', 'unit'],
    timeoutMinutes: 30,
    wants: ['build', 'cluster'],
  },
  // The other half. Two workers, because the suite in the cluster may end before it.
  {
    name: 'integration, second half',
    group: 'integration',
    jest: nice(jest('integration', '--shard=2/2', '--maxWorkers=2')),
    after: ['build', 'images', 'test servers', 'log collector', 'API server'],
    timeoutMinutes: 30,
  },
  // Runs alone, because other suites must not take processor time. Four workers, each idle four fifths of the time.
  {
    name: 'real time',
    group: 'integration',
    jest: jest('realtime'),
    after: ['build', 'cluster binaries'],
    load: CAPACITY,
    timeoutMinutes: 30,
  },
  // Judges processor time, which other suites would increase.
  {
    name: 'speed of the proxy',
    group: 'integration',
    command: ['node', 'bench/short.ts'],
    after: ['build', 'test servers', 'real time'],
    load: CAPACITY,
    maySkip: true,
    timeoutMinutes: 5,
  },
  // Checks the requests that the product sent in that suite.
  {
    name: 'permissions',
    group: 'e2e',
    command: ['node', 'scripts/check-permissions.ts'],
    after: ['product in the cluster'],
    needsCluster: true,
    maySkip: true,
  },
];

/** The suites of a group and of the groups it requires; all suites without a group. Throws for an unknown group. */
export function suitesOf(group: string | undefined): readonly Suite[] {
  if (group === undefined) return SUITES;
  const wanted = new Set([
    group,
    ...SUITES.filter((suite) => suite.group === group).flatMap((suite) => suite.wants ?? []),
  ]);
  if (!SUITES.some((suite) => suite.group === group)) {
    const groups = [...new Set(SUITES.map((suite) => suite.group))];
    throw new Error(`--only=${group}: must be one of ${groups.join(', ')}`);
  }
  return SUITES.filter((suite) => wanted.has(suite.group));
}

/**
 * Runs suites with `run` in order, each as soon as its `after` suites have ended and the capacity allows it. Smaller suites do
 * not overtake a suite that needs the whole capacity. Resolves when all have ended; `isStopped`: no more suites start.
 */
export async function inOrder(
  suites: readonly Suite[],
  run: (suite: Suite) => Promise<void>,
  isStopped = () => false,
): Promise<void> {
  const waiting = [...suites];
  const running = new Map<Suite, Promise<unknown>>();
  const isPending = (name: string) => [...waiting, ...running.keys()].some((suite) => suite.name === name);
  const loadOf = ({ load = 1 }: Suite) => Math.min(load, CAPACITY);
  const used = () => [...running.keys()].reduce((sum, suite) => sum + loadOf(suite), 0);
  for (;;) {
    if (isStopped()) waiting.length = 0;
    for (const suite of waiting.filter(({ after = [] }) => !after.some(isPending))) {
      if (used() + loadOf(suite) > CAPACITY) break;
      waiting.splice(waiting.indexOf(suite), 1);
      running.set(
        suite,
        run(suite).finally(() => running.delete(suite)),
      );
    }
    if (running.size === 0) break;
    await Promise.race(running.values());
  }
  if (waiting.length > 0)
    throw new Error(`suites wait for each other: ${waiting.map(({ name }) => name).join(', ')}`);
}
