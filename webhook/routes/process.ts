import { sendProblem, type Route } from '../../runtime/http-app.ts';
import { METRICS_CONTENT_TYPE } from '../../runtime/metrics.ts';
import { Problem } from '../../runtime/problem.ts';
import type { WebhookContext } from '../context.ts';

export function processRoutes(context: WebhookContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/livez',
      handlers: [(_request, response) => void response.json({ status: 'live' })],
    },
    {
      method: 'GET',
      path: '/readyz',
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
      handlers: [
        (_request, response) => void response.type(METRICS_CONTENT_TYPE).send(context.metrics.render()),
      ],
    },
  ];
}
