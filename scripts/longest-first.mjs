// Runs the slowest test files first, so that workers do not wait for one slow file at the end. Jest orders by the times of
// earlier runs, which a fresh checkout does not have, or by file size.
import { relative } from 'node:path';
import TestSequencer from '@jest/test-sequencer';

/** Durations of the slowest files in seconds, from a full run. Unlisted files are faster. */
const SECONDS = {
  'operator/operator.test.ts': 5,
  'sidecar/proxy/proxy-server.test.ts': 6,
  'sidecar/proxy/hostile-responses.test.ts': 5,
  'examples/demo/demo.integration.test.ts': 23,
  'testing/browser/dashboard.integration.test.ts': 20,
  'testing/browser/screens.integration.test.ts': 18,
  'sidecar/process.integration.test.ts': 12,
  'reporter/declarations.integration.test.ts': 9,
  'scripts/release.integration.test.ts': 9,
  'sidecar/clients/large-bodies.integration.test.ts': 9,
  'kube/one-namespace.apiserver.test.ts': 82,
  'helm/lifecycle.apiserver.test.ts': 66,
  'webhook/handover.apiserver.test.ts': 49,
  'operator/operator.apiserver.test.ts': 41,
  'operator/injector-watch.apiserver.test.ts': 40,
  'cli/cluster/cluster.apiserver.test.ts': 39,
  'webhook/replicas.apiserver.test.ts': 36,
  'webhook/cases.apiserver.test.ts': 32,
  'operator/remote/mirror.apiserver.test.ts': 30,
  'control-plane/replicas.apiserver.test.ts': 30,
  'operator/faulty-network.realtime.test.ts': 37,
  'operator/outage.realtime.test.ts': 34,
  'operator/failover.realtime.test.ts': 25,
  'operator/scale.realtime.test.ts': 24,
  'operator/slow-api-server.realtime.test.ts': 19,
  'sidecar/overload.realtime.test.ts': 17,
};

/**
 * First, in this order: install.test.ts removes its release, and the next files change the release of the file before as little
 * as possible, because a changed value restarts the processes of the product.
 */
const CLUSTER = ['install', 'upgrade', 'guard', 'churn', 'injection'].map((name) => `e2e/${name}.test.ts`);

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const secondsOf = ({ path, context }) => {
      const file = relative(context.config.rootDir, path);
      return CLUSTER.includes(file) ? 1_000 - CLUSTER.indexOf(file) : (SECONDS[file] ?? 0);
    };
    // The sort is stable, so unlisted files keep Jest's order.
    return super.sort(tests).sort((a, b) => secondsOf(b) - secondsOf(a));
  }
}
