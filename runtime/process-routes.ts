import { sendProblem, type Route } from './http-app.ts';
import { METRICS_CONTENT_TYPE, type Metrics } from './metrics.ts';
import { Problem } from './problem.ts';

export interface ProcessState {
  metrics: Metrics;
  /** Why this process is not ready; null: it is ready. */
  unready(): string | null;
}

/** The metrics of Prometheus' client libraries that dashboards for controllers use. */
function addProcessMetrics(metrics: Metrics): void {
  metrics.total('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', () => {
    const { user, system } = process.cpuUsage();
    return [{ value: (user + system) / 1e6 }];
  });
  metrics.gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () => [
    { value: process.memoryUsage.rss() },
  ]);
  metrics.gauge(
    'process_start_time_seconds',
    'Start time of the process since unix epoch in seconds.',
    () => [{ value: performance.timeOrigin / 1000 }],
  );
}

/** Routes that the kubelet and Prometheus request from every process in the cluster. Adds the metrics of the process. */
export function processRoutes(state: ProcessState): Route[] {
  addProcessMetrics(state.metrics);
  return [
    {
      method: 'GET',
      path: '/livez',
      access: 'open',
      summary: '`{"status": "live"}` while the process runs.',
      operation: { id: 'getLiveness', responses: { 200: { description: 'Live.', schema: 'Liveness' } } },
      handlers: [(_request, response) => void response.json({ status: 'live' })],
    },
    {
      method: 'GET',
      path: '/readyz',
      access: 'open',
      summary:
        '200 if the process is ready. 503 with the reason if the process is not ready or is shutting down.',
      operation: {
        id: 'getReadiness',
        responses: { 200: { description: 'Ready.', schema: 'Readiness' }, 503: 'Not ready.' },
      },
      handlers: [
        (_request, response) => {
          const reason = state.unready();
          // Sent, not thrown: the kubelet probes continuously, and each response would be logged as a failure.
          if (reason === null) response.json({ status: 'ready' });
          else sendProblem(response, new Problem(503, reason));
        },
      ],
    },
    {
      method: 'GET',
      path: '/metrics',
      access: 'open',
      summary: 'Prometheus metrics.',
      operation: {
        id: 'getMetrics',
        responses: { 200: { description: 'The metrics in the text format.', contentType: 'text/plain' } },
      },
      handlers: [
        (_request, response) => void response.type(METRICS_CONTENT_TYPE).send(state.metrics.render()),
      ],
    },
  ];
}
