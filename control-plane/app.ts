import type { Express, RequestHandler } from 'express';
import { createApp } from '../runtime/http-app.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { requireAdminKey } from './auth/admin-key.ts';
import { requireCaller } from './auth/caller.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from './context.ts';
import { agentRoutes } from './routes/agents.ts';
import { heartbeatRoutes } from './routes/heartbeat.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import { proofRoutes } from './routes/proofs.ts';
import { registrationRoutes } from './routes/registration.ts';
import { reportRoutes } from './routes/reports.ts';

/** The fleet REST API. */
export function createControlPlaneApp(context: ControlPlaneContext): Express {
  const guards: Record<ControlPlaneRoute['access'], RequestHandler[]> = {
    open: [],
    admin: [requireAdminKey(context)],
    bearer: [requireCaller(context)],
  };
  const routes = controlPlaneRoutes(context);
  return createApp({
    logger: context.logger,
    before: [countRequests(context.metrics)],
    routes: routes.map((route) => ({ ...route, handlers: [...guards[route.access], ...route.handlers] })),
  });
}

/** All routes of the control plane. */
export function controlPlaneRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  return [
    ...processRoutes(context),
    ...registrationRoutes(context),
    ...heartbeatRoutes(context),
    ...agentRoutes(context),
    ...reportRoutes(context),
    ...proofRoutes(context),
  ];
}

/** Counts by route pattern, not by path: paths contain agent names, which must not become label values. */
function countRequests(metrics: Metrics): RequestHandler {
  const requests = metrics.counter(
    'platform_control_plane_requests_total',
    'HTTP requests by method, route and status.',
  );
  return (request, response, next) => {
    response.once('close', () => {
      const route = (request.route as { path?: unknown } | undefined)?.path;
      requests.add({
        method: METHODS.has(request.method) ? request.method : 'other',
        route: typeof route === 'string' ? route : 'none',
        status: String(response.statusCode),
      });
    });
    next();
  };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
