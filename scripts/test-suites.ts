// The suites that test-all.mjs runs, in the order in which they are started.
export interface Suite {
  name: string;
  /** What --only= takes. */
  group: string;
  /** A check: counts as one. */
  command?: readonly string[];
  /** A Jest run: counts its tests. */
  jest?: readonly string[];
  /** Suites that must have ended, whatever they said, before this one starts; one that does not run is not waited for. */
  after?: readonly string[];
  /** Cores that it keeps busy on average, of CAPACITY; default 1. */
  load?: number;
  /** Left out, loudly, where no cluster can run. */
  needsCluster?: boolean;
  /** The command may say with its exit code that this machine cannot have what it brings. */
  maySkip?: boolean;
  /** Default 40. */
  timeoutMinutes?: number;
  /** The groups that --only= of its group brings along. */
  wants?: readonly string[];
}

/** Exit code of a command that means: this machine cannot have what it brings, and the reason is printed. */
export const CANNOT_RUN = 3;

/**
 * Busy processes at the same time. A suite that keeps two cores busy (the unit tests; a cluster with its nodes) runs alone,
 * and so does every test that needs real time.
 */
export const CAPACITY = 2;

const npm = (script: string, ...args: string[]) => ['npm', 'run', '--silent', script, ...args];
const jest = (project: string, ...flags: string[]) => npm(`test:${project}`, '--', ...flags);

export const SUITES: readonly Suite[] = [
  // The longest check first: the others end next to it.
  { name: 'lint', group: 'check', command: npm('lint') },
  { name: 'format', group: 'check', command: npm('format:check') },
  { name: 'types', group: 'check', command: npm('typecheck') },
  { name: 'layers', group: 'check', command: npm('layers') },
  { name: 'dead code', group: 'check', command: npm('dead-code') },
  { name: 'generated files', group: 'check', command: npm('generate:check') },
  { name: 'build', group: 'build', command: npm('build') },
  { name: 'test servers', group: 'integration', command: ['scripts/debian-servers.sh'], maySkip: true },
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
    // For helm.
    after: ['cluster binaries'],
    maySkip: true,
  },
  // Three workers, each of which waits for a third of the time.
  { name: 'unit', group: 'unit', jest: jest('unit', '--maxWorkers=3'), load: CAPACITY },
  // Next to the cluster each of the two took twice as long.
  {
    name: 'integration',
    group: 'integration',
    jest: jest('integration'),
    after: ['build', 'images', 'test servers'],
    load: CAPACITY,
    timeoutMinutes: 30,
  },
  // One worker, and a cluster: together they keep 1.4 cores busy, measured alone.
  {
    name: 'product in the cluster',
    group: 'e2e',
    jest: jest('e2e'),
    after: ['images', 'unit'],
    needsCluster: true,
    timeoutMinutes: 40,
    wants: ['cluster', 'build'],
  },
  // Two workers, each of which keeps 0.4 cores busy with its API server.
  {
    name: 'API server',
    group: 'integration',
    jest: jest('apiserver', '--maxWorkers=2'),
    after: ['build', 'cluster binaries', 'unit'],
    timeoutMinutes: 30,
    wants: ['build', 'cluster'],
  },
  // Alone: nothing else may take processor time from these. Four workers, each of which is idle four fifths of the time.
  {
    name: 'real time',
    group: 'integration',
    jest: jest('realtime'),
    after: ['build', 'cluster binaries'],
    load: CAPACITY,
    timeoutMinutes: 30,
  },
  // What the product requested from the cluster of that suite.
  {
    name: 'permissions',
    group: 'e2e',
    command: ['node', 'scripts/check-rights.ts'],
    after: ['product in the cluster'],
    needsCluster: true,
    maySkip: true,
  },
];

/** The suites of a group with what they want; all of them without one. Throws when there is no such group. */
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
 * Runs suites with `run`, in their order, each as soon as those before it have ended and there is room. One that needs all
 * the room is not overtaken for ever by those that need less. Resolves when all have ended; `isStopped`: nothing more starts.
 */
export async function inOrder(
  suites: readonly Suite[],
  run: (suite: Suite) => Promise<void>,
  isStopped = () => false,
): Promise<void> {
  const waiting = [...suites];
  const running = new Map<Suite, Promise<unknown>>();
  const hasToEnd = (name: string) => [...waiting, ...running.keys()].some((suite) => suite.name === name);
  const loadOf = ({ load = 1 }: Suite) => Math.min(load, CAPACITY);
  const used = () => [...running.keys()].reduce((sum, suite) => sum + loadOf(suite), 0);
  for (;;) {
    if (isStopped()) waiting.length = 0;
    for (const suite of waiting.filter(({ after = [] }) => !after.some(hasToEnd))) {
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
    throw new Error(`these wait for each other: ${waiting.map(({ name }) => name).join(', ')}`);
}
