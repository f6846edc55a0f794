import type { Express } from 'express';
import { createApp, tagged } from '../runtime/http-app.ts';
import { localAccess, type SidecarRoute } from './access.ts';
import type { SidecarContext } from './context.ts';
import type { SidecarTag } from './openapi.ts';
import { auditRoutes } from './routes/audit-routes.ts';
import { egressRoutes } from './routes/egress-routes.ts';
import { healthRoutes } from './routes/health-routes.ts';
import { metricsRoutes } from './routes/metrics-routes.ts';
import { openApiRoute } from './routes/openapi.ts';
import { proofRoutes } from './routes/proof-routes.ts';
import { reportRoutes } from './routes/report-routes.ts';

/** Every route is available with and without the prefix. */
const PREFIXES = ['', '/platform'] as const;

/** The route table of the control port; the reference page is generated from it. */
export function sidecarRoutes(context: SidecarContext, heartbeatFailures: () => number): SidecarRoute[] {
  const groups: Record<SidecarTag, SidecarRoute[]> = {
    Health: healthRoutes(context),
    Reports: reportRoutes(context),
    Audit: auditRoutes(context),
    Egress: egressRoutes(context),
    Proofs: proofRoutes(context),
    Process: metricsRoutes(context, heartbeatFailures),
  };
  const routes = Object.entries(groups).flatMap(([tag, group]) => tagged(tag, group));
  routes.push(...tagged('Process', [openApiRoute(routes)]));
  return routes;
}

/** The control port of one sidecar (4001). */
export function createSidecarApp(context: SidecarContext, heartbeatFailures: () => number): Express {
  const routes = sidecarRoutes(context, heartbeatFailures);
  return createApp({
    logger: context.logger,
    prefixes: PREFIXES,
    before: context.config.CONTROL_ACCESS === 'local' ? [localAccess(routes, PREFIXES)] : [],
    routes,
  });
}
