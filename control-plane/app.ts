import type { Express, RequestHandler } from 'express';
import { conditional } from '../runtime/conditional.ts';
import { createApp, tagged } from '../runtime/http-app.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { personGuard } from './auth/authorize.ts';
import { requireCaller } from './auth/caller.ts';
import { signInRoutes } from './auth/oidc/routes.ts';
import { actionRecorder } from './auth/record-actions.ts';
import { compressResponses } from './compress-responses.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from './context.ts';
import { adminActionRoutes } from './routes/admin-actions.ts';
import { auditEventRoutes } from './routes/audit-events.ts';
import { createLiveFleet, type LiveFleet } from './live/fleet.ts';
import { agentDetailRoutes } from './routes/agent-detail.ts';
import { dashboardRoutes } from './dashboard/routes.ts';
import { agentRoutes } from './routes/agents.ts';
import { coverageRoutes } from './routes/coverage.ts';
import { directiveRoutes } from './routes/directives.ts';
import { heartbeatRoutes } from './routes/heartbeat.ts';
import { historyRoutes } from './routes/history.ts';
import { meRoutes } from './routes/me.ts';
import { isConditional, openApiRoute, type ControlPlaneTag } from './routes/openapi.ts';
import { organisationRoutes } from './routes/organisation.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import { proofRoutes } from './routes/proofs.ts';
import { registrationRoutes } from './routes/registration.ts';
import { reportRoutes } from './routes/reports.ts';
import { ruleRoutes } from './routes/rules.ts';
import { stopRoutes } from './routes/stops.ts';
import { streamRoutes } from './routes/stream.ts';

/** The fleet REST API. */
export function createControlPlaneApp(context: ControlPlaneContext): Express {
  const agent = requireCaller(context);
  const person = personGuard(context);
  const guardsOf = ({ access }: ControlPlaneRoute): RequestHandler[] => {
    if (access === 'open') return [];
    return [access === 'bearer' ? agent : person(access)];
  };
  const recorded = actionRecorder(context);
  const withTag = conditional(NO_STORE);
  const handlersOf = (route: ControlPlaneRoute): RequestHandler[] => [
    ...(route.access === 'open' ? [] : [withoutStore]),
    ...recorded(route, guardsOf(route)),
    ...(isConditional(route) ? [withTag] : []),
    ...route.handlers,
  ];
  return createApp({
    logger: context.logger,
    before: [countRequests(context.metrics), compressResponses],
    routes: controlPlaneRoutes(context).map((route) => ({ ...route, handlers: handlersOf(route) })),
  });
}

const NO_STORE = 'no-store';

/** Data of agents and of their administrators must not stay in the cache of a browser or a proxy; errors neither. */
const withoutStore: RequestHandler = (_request, response, next) => {
  response.set('cache-control', NO_STORE);
  next();
};

/** All routes of the control plane. */
export function controlPlaneRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  let fleet: LiveFleet | null = null;
  const live = (): LiveFleet => (fleet ??= createLiveFleet(context));
  const groups: Record<ControlPlaneTag, ControlPlaneRoute[]> = {
    Process: processRoutes(context),
    Heartbeats: [...registrationRoutes(context), ...heartbeatRoutes(context), ...directiveRoutes(context)],
    Agents: [...agentRoutes(context), ...agentDetailRoutes(context)],
    Reports: reportRoutes(context),
    Proofs: proofRoutes(context),
    History: historyRoutes(context),
    Organisation: organisationRoutes(context, live),
    Stops: stopRoutes(context),
    'Audit events': auditEventRoutes(context),
    'Admin actions': adminActionRoutes(context),
    Fleet: [...coverageRoutes(context, live), ...ruleRoutes(context, live), ...streamRoutes(context, live)],
    Callers: meRoutes(context),
    'Sign-in': signInRoutes(context),
    Dashboard: dashboardRoutes(),
  };
  const routes = Object.entries(groups).flatMap(([tag, group]) => tagged(tag, group));
  routes.push(...tagged('Process', [openApiRoute(routes)]));
  return routes;
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
