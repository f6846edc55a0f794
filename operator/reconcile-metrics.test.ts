import { expect, test } from '@jest/globals';
import { systemClock } from '../runtime/clock.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { requestObserver, workObserver } from './reconcile-metrics.ts';

const QUEUE = 'controller="agents",name="agents"';
const CONTROLLER = 'controller="agents"';

/** As in controller-runtime's pkg/internal/controller/metrics and pkg/internal/metrics, and in client-go's adapter. */
const FAMILIES: [name: string, type: string, labels: string[]][] = [
  ['workqueue_adds_total', 'counter', [QUEUE]],
  ['workqueue_retries_total', 'counter', [QUEUE]],
  ['workqueue_queue_duration_seconds', 'histogram', [QUEUE]],
  ['workqueue_work_duration_seconds', 'histogram', [QUEUE]],
  ['workqueue_unfinished_work_seconds', 'gauge', [QUEUE]],
  ['workqueue_longest_running_processor_seconds', 'gauge', [QUEUE]],
  [
    'controller_runtime_reconcile_total',
    'counter',
    ['error', 'requeue_after', 'success'].map((result) => `${CONTROLLER},result="${result}"`),
  ],
  ['controller_runtime_reconcile_errors_total', 'counter', [CONTROLLER]],
  ['controller_runtime_reconcile_time_seconds', 'histogram', [CONTROLLER]],
  ['controller_runtime_active_workers', 'gauge', [CONTROLLER]],
  ['controller_runtime_max_concurrent_reconciles', 'gauge', [CONTROLLER]],
  ['rest_client_requests_total', 'counter', ['code="200",host="h:6443",method="GET"']],
];

const metrics = createMetrics();
const observer = workObserver(metrics, systemClock);
observer.created('agents', 4);
observer.added('agents');
observer.began('agents', 'a/b', 0.5);
observer.done({ queue: 'agents', key: 'a/b', outcome: 'error', seconds: 2 });
requestObserver(metrics)({ code: '200', method: 'GET', host: 'h:6443' });
const lines = metrics.render().split('\n');

test.each(FAMILIES)('%s is a %s with the labels of controller-runtime', (name, type, labels) => {
  expect(lines).toContain(`# TYPE ${name} ${type}`);
  const series = lines.flatMap((line) => {
    const [, family, text = ''] = /^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    return family === name
      ? [
          text
            .split(',')
            .sort()
            .filter((pair) => !pair.startsWith('le='))
            .join(','),
        ]
      : [];
  });
  expect([...new Set(series)].sort()).toEqual(labels);
});

test('has only metric families of controller-runtime and client-go', () => {
  const families = lines.filter((line) => line.startsWith('# TYPE')).map((line) => line.split(' ')[2]);
  expect(families.sort()).toEqual(FAMILIES.map(([name]) => name).sort());
});

test('exports zeros before the first occurrence, so that the first error is an increase', () => {
  const other = createMetrics();
  workObserver(other, systemClock).created('skipped-pods', 4);
  const text = other.render();
  for (const series of [
    'controller_runtime_reconcile_errors_total{controller="skipped-pods"} 0',
    'controller_runtime_reconcile_total{controller="skipped-pods",result="error"} 0',
    'controller_runtime_max_concurrent_reconciles{controller="skipped-pods"} 4',
    'workqueue_longest_running_processor_seconds{name="skipped-pods",controller="skipped-pods"} 0',
  ])
    expect(text).toContain(`${series}\n`);
});
