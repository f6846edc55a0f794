import type { RequestObserver } from '../kube/client.ts';
import type { WorkObserver, WorkOutcome } from '../kube/work-queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Labels, Metrics } from '../runtime/metrics.ts';

/** Seconds; the same buckets as controller-runtime. */
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1_000];
const RECONCILE_BUCKETS = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9],
  ...[1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
];

const RESULTS: readonly WorkOutcome[] = ['success', 'requeue_after', 'error'];

/** Both label names, because dashboards group by either of them. */
export const queueLabels = (queue: string): Labels => ({ name: queue, controller: queue });

/** Work queue metrics with the names, labels and help texts of controller-runtime, so that its dashboards work. */
export function workObserver(metrics: Metrics, clock: Clock): WorkObserver {
  const adds = metrics.counter('workqueue_adds_total', 'Total number of adds handled by workqueue');
  const retries = metrics.counter(
    'workqueue_retries_total',
    'Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)',
  );
  const waited = metrics.histogram(
    'workqueue_queue_duration_seconds',
    'How long in seconds an item stays in workqueue before being requested',
    QUEUE_BUCKETS,
  );
  const worked = metrics.histogram(
    'workqueue_work_duration_seconds',
    'How long in seconds processing an item from workqueue takes.',
    QUEUE_BUCKETS,
  );
  const reconciles = reconcileMetrics(metrics);
  const running = runningWork(metrics, clock);
  return {
    created(queue, concurrency) {
      adds.add(queueLabels(queue), 0);
      retries.add(queueLabels(queue), 0);
      for (const histogram of [waited, worked]) histogram.create(queueLabels(queue));
      reconciles.created(queue, concurrency);
      running.created(queue, concurrency);
    },
    added: (queue) => adds.add(queueLabels(queue)),
    began(queue, key, waitedSeconds) {
      waited.observe(waitedSeconds, queueLabels(queue));
      running.began(queue, key, waitedSeconds);
    },
    done(work) {
      running.done(work);
      worked.observe(work.seconds, queueLabels(work.queue));
      reconciles.done(work);
      if (work.outcome !== 'success') retries.add(queueLabels(work.queue));
    },
  };
}

function reconcileMetrics(metrics: Metrics): Pick<WorkObserver, 'created' | 'done'> {
  const total = metrics.counter(
    'controller_runtime_reconcile_total',
    'Total number of reconciliations per controller',
  );
  const errors = metrics.counter(
    'controller_runtime_reconcile_errors_total',
    'Total number of reconciliation errors per controller',
  );
  const took = metrics.histogram(
    'controller_runtime_reconcile_time_seconds',
    'Length of time per reconciliation per controller',
    RECONCILE_BUCKETS,
  );
  return {
    // A rate over a series that starts with the first error would miss that error.
    created(controller) {
      errors.add({ controller }, 0);
      took.create({ controller });
      for (const result of RESULTS) total.add({ controller, result }, 0);
    },
    done({ queue: controller, outcome: result, seconds }) {
      total.add({ controller, result });
      took.observe(seconds, { controller });
      if (result === 'error') errors.add({ controller });
    },
  };
}

const GAUGES: {
  name: string;
  help: string;
  labels: (queue: string) => Labels;
  /** `seconds`: how long each item in progress has been worked on. */
  value: (seconds: number[], concurrency: number) => number;
}[] = [
  {
    name: 'workqueue_unfinished_work_seconds',
    help:
      "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. " +
      'Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.',
    labels: queueLabels,
    value: (seconds) => seconds.reduce((all, each) => all + each, 0),
  },
  {
    name: 'workqueue_longest_running_processor_seconds',
    help: 'How many seconds has the longest running processor for workqueue been running.',
    labels: queueLabels,
    value: (seconds) => Math.max(0, ...seconds),
  },
  {
    name: 'controller_runtime_active_workers',
    help: 'Number of currently used workers per controller',
    labels: (controller) => ({ controller }),
    value: (seconds) => seconds.length,
  },
  {
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Maximum number of concurrent reconciles per controller',
    labels: (controller) => ({ controller }),
    value: (_seconds, concurrency) => concurrency,
  },
];

/** Only these metrics show work that hangs, because the others count work when it ends. */
function runningWork(metrics: Metrics, clock: Clock): Pick<WorkObserver, 'created' | 'began' | 'done'> {
  const queues = new Map<string, { concurrency: number; since: Map<string, number> }>();
  for (const { name, help, labels, value } of GAUGES)
    metrics.gauge(name, help, () =>
      [...queues].map(([queue, { concurrency, since }]) => {
        const seconds = [...since.values()].map((sinceMs) => (clock.monotonicMs() - sinceMs) / 1000);
        return { labels: labels(queue), value: value(seconds, concurrency) };
      }),
    );
  return {
    created: (queue, concurrency) => void queues.set(queue, { concurrency, since: new Map() }),
    began: (queue, key) => void queues.get(queue)?.since.set(key, clock.monotonicMs()),
    done: ({ queue, key }) => void queues.get(queue)?.since.delete(key),
  };
}

/** client-go's counter of requests to the API server. */
export function requestObserver(metrics: Metrics): RequestObserver {
  const requests = metrics.counter(
    'rest_client_requests_total',
    'Number of HTTP requests, partitioned by status code, method, and host.',
  );
  return ({ code, method, host }) => requests.add({ code, method, host });
}
