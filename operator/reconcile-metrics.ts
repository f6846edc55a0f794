import type { RequestObserver } from '../kube/client.ts';
import type { WorkObserver } from '../kube/work-queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Labels, Metrics } from '../runtime/metrics.ts';

/** Seconds, as controller-runtime has them for its queues. */
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1_000];
const RECONCILE_BUCKETS = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9],
  ...[1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
];

/** Both names, since dashboards group by either. */
export const queueLabels = (queue: string): Labels => ({ name: queue, controller: queue });

/** What the work queues do, under controller-runtime's names and with its labels, so that its dashboards work. */
export function workObserver(metrics: Metrics, clock: Clock): WorkObserver {
  const adds = metrics.counter('workqueue_adds_total', 'Keys that were added to a queue.');
  const retries = metrics.counter('workqueue_retries_total', 'Keys that are to be tried again.');
  const waited = metrics.histogram(
    'workqueue_queue_duration_seconds',
    'How long a key waited.',
    QUEUE_BUCKETS,
  );
  const worked = metrics.histogram(
    'workqueue_work_duration_seconds',
    'How long a key was worked on.',
    QUEUE_BUCKETS,
  );
  const total = metrics.counter('controller_runtime_reconcile_total', 'Reconciles by controller and result.');
  const errors = metrics.counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed.');
  const seconds = metrics.histogram(
    'controller_runtime_reconcile_time_seconds',
    'Duration of a reconcile.',
    RECONCILE_BUCKETS,
  );
  const running = runningWork(metrics, clock);
  return {
    added: (queue) => adds.add(queueLabels(queue)),
    began(queue, key, waitedSeconds) {
      waited.observe(waitedSeconds, queueLabels(queue));
      running.began(queue, key);
    },
    done({ queue, key, outcome, seconds: took }) {
      running.done(queue, key);
      worked.observe(took, queueLabels(queue));
      total.add({ controller: queue, result: outcome });
      seconds.observe(took, { controller: queue });
      if (outcome === 'error') errors.add({ controller: queue });
      if (outcome !== 'success') retries.add(queueLabels(queue));
    },
  };
}

/** Work that hangs shows in these alone: it never ends, so nothing counts it. */
function runningWork(
  metrics: Metrics,
  clock: Clock,
): { began(queue: string, key: string): void; done(queue: string, key: string): void } {
  const queues = new Map<string, Map<string, number>>();
  const read = (sum: (seconds: number[]) => number) => () =>
    [...queues].map(([queue, keys]) => ({
      labels: queueLabels(queue),
      value: sum([...keys.values()].map((sinceMs) => (clock.monotonicMs() - sinceMs) / 1000)),
    }));
  metrics.gauge(
    'workqueue_unfinished_work_seconds',
    'Seconds of work under way, all keys together.',
    read((seconds) => seconds.reduce((all, each) => all + each, 0)),
  );
  metrics.gauge(
    'workqueue_longest_running_processor_seconds',
    'Seconds since the key was begun that is worked on longest.',
    read((seconds) => Math.max(0, ...seconds)),
  );
  metrics.gauge('controller_runtime_active_workers', 'Keys that are worked on now.', () =>
    [...queues].map(([controller, keys]) => ({ labels: { controller }, value: keys.size })),
  );
  return {
    began(queue, key) {
      const keys = queues.get(queue) ?? new Map<string, number>();
      queues.set(queue, keys.set(key, clock.monotonicMs()));
    },
    done: (queue, key) => void queues.get(queue)?.delete(key),
  };
}

/** client-go's counter of requests to the API server. */
export function requestObserver(metrics: Metrics): RequestObserver {
  const requests = metrics.counter(
    'rest_client_requests_total',
    'Requests to the API server by status code, method and host.',
  );
  return ({ code, method, host }) => requests.add({ code, method, host });
}
