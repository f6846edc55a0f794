// Jest's order of test files: those that are known to take long first, so that none of them begins when the others have
// ended; the rest by their size. Jest itself knows times only of a run before, which a fresh clone has not had.
import { statSync } from 'node:fs';
import { relative } from 'node:path';

/** Seconds, about, on two cores with all suites beside each other. What is missing or no longer right costs time, no more. */
const LONG: Readonly<Record<string, number>> = {
  'e2e/install.test.ts': 350,
  'e2e/churn.test.ts': 280,
  'e2e/upgrade.test.ts': 240,
  'e2e/injection-deletion.test.ts': 180,
  'e2e/injection.test.ts': 140,
  'e2e/guard.test.ts': 95,
  'webhook/replicas.integration.test.ts': 200,
  'cli/cluster/cluster.integration.test.ts': 185,
  'operator/outage.integration.test.ts': 180,
  'operator/injector-watch.integration.test.ts': 155,
  'helm/lifecycle.integration.test.ts': 120,
  'sidecar/clients/large-bodies.integration.test.ts': 105,
  'control-plane/replicas.integration.test.ts': 95,
  'operator/scale.integration.test.ts': 90,
  'webhook/certificates/rotation.integration.test.ts': 68,
  'operator/operator.integration.test.ts': 62,
  'operator/remote/mirror.integration.test.ts': 52,
};

interface TestFile {
  path: string;
  context: { config: { rootDir: string } };
}

export default class LongestFirst {
  sort<T extends TestFile>(tests: readonly T[]): T[] {
    const weighed = tests.map((test) => {
      const seconds = LONG[relative(test.context.config.rootDir, test.path)] ?? 0;
      return { test, seconds, size: statSync(test.path).size };
    });
    return weighed.sort((a, b) => b.seconds - a.seconds || b.size - a.size).map(({ test }) => test);
  }

  /** For --onlyFailures: nothing is kept of a run. */
  allFailedTests(): never[] {
    return [];
  }

  cacheResults(): void {
    // Of no use: see allFailedTests.
  }

  shard<T extends TestFile>(tests: readonly T[], options: { shardIndex: number; shardCount: number }): T[] {
    const { shardIndex, shardCount } = options;
    return tests
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
      .filter((_, index) => index % shardCount === shardIndex - 1);
  }
}
