import type { RequestHandler } from 'express';
import { sendProblem, type Route } from './http-app.ts';
import { METRICS_CONTENT_TYPE, type Metrics } from './metrics.ts';
import { Problem } from './problem.ts';

export interface ProcessState {
  metrics: Metrics;
  /** Why this process is not ready; null: it is ready. */
  unready(): string | null;
}

const get = (path: string, summary: string, handler: RequestHandler): Route => ({
  method: 'GET',
  path,
  access: 'open',
  summary,
  handlers: [handler],
});

/** Routes that the kubelet and Prometheus request from every process in the cluster. */
export function processRoutes(state: ProcessState): Route[] {
  return [
    get('/livez', '`{"status": "live"}` while the process runs.', (_request, response) => {
      response.json({ status: 'live' });
    }),
    get(
      '/readyz',
      '200 if the process is ready. 503 with the reason if the process is not ready or is shutting down.',
      (_request, response) => {
        const reason = state.unready();
        // Sent, not thrown: the kubelet probes continuously, and each response would be logged as a failure.
        if (reason === null) response.json({ status: 'ready' });
        else sendProblem(response, new Problem(503, reason));
      },
    ),
    get('/metrics', 'Prometheus metrics.', (_request, response) => {
      response.type(METRICS_CONTENT_TYPE).send(state.metrics.render());
    }),
  ];
}
