import type { Express } from 'express';
import { createApp } from '../runtime/http-app.ts';
import type { Logger } from '../runtime/logger.ts';
import { METRICS_CONTENT_TYPE, type Metrics } from '../runtime/metrics.ts';
import { Problem } from '../runtime/problem.ts';

export interface OperatorAppContext {
  logger: Logger;
  metrics: Metrics;
  /** Why this process cannot do its work now; null: it can. */
  unready(): string | null;
}

/** Health and metrics; the operator serves nothing else. */
export function createOperatorApp(context: OperatorAppContext): Express {
  return createApp({
    logger: context.logger,
    routes: [
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
            const reason = context.unready();
            if (reason !== null) throw new Problem(503, reason);
            response.json({ status: 'ready' });
          },
        ],
      },
      {
        method: 'GET',
        path: '/metrics',
        summary: 'Prometheus metrics.',
        handlers: [
          (_request, response) => void response.type(METRICS_CONTENT_TYPE).send(context.metrics.render()),
        ],
      },
    ],
  });
}
