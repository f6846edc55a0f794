import { sendProblem, type Route } from './http-app.ts';
import { METRICS_CONTENT_TYPE, type Metrics } from './metrics.ts';
import { Problem } from './problem.ts';

export interface ProcessState {
  metrics: Metrics;
  /** Why this process cannot do its work now; null: it can. */
  unready(): string | null;
}

/** What the kubelet and Prometheus ask of every process in the cluster. */
export function processRoutes(state: ProcessState): Route[] {
  return [
    {
      method: 'GET',
      path: '/livez',
      summary: '`{"status": "live"}` while the process runs.',
      handlers: [(_request, response) => void response.json({ status: 'live' })],
    },
    {
      method: 'GET',
      path: '/readyz',
      summary: '200 while it can serve; 503 with the reason, and while it stops.',
      handlers: [
        (_request, response) => {
          const reason = state.unready();
          // Not thrown: the kubelet asks on and on, and each answer would be logged as a failure.
          if (reason === null) response.json({ status: 'ready' });
          else sendProblem(response, new Problem(503, reason));
        },
      ],
    },
    {
      method: 'GET',
      path: '/metrics',
      summary: 'Prometheus metrics.',
      handlers: [
        (_request, response) => void response.type(METRICS_CONTENT_TYPE).send(state.metrics.render()),
      ],
    },
  ];
}
