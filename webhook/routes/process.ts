import { sendProblem, type Route } from '../../runtime/http-app.ts';
import { METRICS_CONTENT_TYPE } from '../../runtime/metrics.ts';
import { Problem } from '../../runtime/problem.ts';
import type { WebhookContext } from '../context.ts';

export function processRoutes(context: WebhookContext): Route[] {
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
          const reason = context.unready();
          // Not thrown: the kubelet asks on and on, and each answer would be logged as a failure.
          if (reason !== null) sendProblem(response, new Problem(503, reason));
          else response.json({ status: 'ready' });
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
  ];
}
