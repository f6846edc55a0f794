import type { Route } from '../../runtime/http-app.ts';
import { METRICS_CONTENT_TYPE } from '../../runtime/metrics.ts';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext } from '../context.ts';

/** What the kubelet and Prometheus ask. */
export function processRoutes(context: ControlPlaneContext): Route[] {
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
  ];
}
