import { controlPlaneRoutes, createControlPlaneApp } from '../control-plane/app.ts';
import { readConfig } from '../control-plane/config.ts';
import { createContext, type ControlPlaneContext } from '../control-plane/context.ts';
import type { Store } from '../control-plane/stores/store.ts';
import type { Route } from '../runtime/http-app.ts';
import { listen } from '../runtime/http-listener.ts';
import { silentLogger } from '../runtime/logger.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import { OPEN_PATHS } from '../sidecar/access.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { sidecarRoutes } from '../sidecar/app.ts';
import type { SidecarContext } from '../sidecar/context.ts';
import { webhookRoutes } from '../webhook/app.ts';
import type { WebhookContext } from '../webhook/context.ts';
import { markdownTable } from './markdown-table.ts';

const INTRODUCTION = `# Routes

<!-- Made by scripts/generate.ts from the route table of each process. Do not edit. -->

Bodies are JSON. Errors are \`application/problem+json\` (RFC 9457): \`{type, title, status, detail}\`, with \`errors[]\` where an
input is not valid. An unknown path is 404; a known one with another method is 405 with \`Allow\`. HEAD is answered wherever
GET is.

## Sidecar

Port 4001. Each route is served under \`/platform\` too, such as \`/platform/gap\`. There are no credentials: reaching the port
is the trust boundary. With \`CONTROL_ACCESS=local\`, which the injector sets, *local* routes are answered on loopback only
(a port-forward arrives there), with a \`Host\` of \`localhost\`, \`127.0.0.0/8\` or \`[::1]\`, with any port, and without an
\`Origin\` of another host. Any other request is 403. *Open* routes are answered to everybody, \`/health/ready\` without its
body. Everything on port 4000 goes to the agent: see [the sidecar](../sidecar.md).

`;

const CONTROL_PLANE = `
## Control plane

Port 8080, HTTPS in a cluster. *admin*: the header \`X-Admin-Key\` with the admin key; 401 without it, 403 where it is wrong,
503 where none is configured. *bearer*: \`Authorization: Bearer <key>\`, the key that registration gave, or in a cluster the
projected ServiceAccount token of a pod (audience \`platform.io\`). What is stored and for how long is told in
[the control plane](../control-plane.md).

`;

const AGENTS = `
The routes under \`/agents/:name\` take \`?namespace=\`, and answer 409 with the \`namespaces\` where a name is in several and
none is given; 404 for an unknown agent, and for a report before the first heartbeat. The reports are those of the worst
live instance; \`?instance=\` asks for another one. The SQLite store has the full report of every listed instance. The Kubernetes
store has that of the worst one, and of the others a summary, in which lists are null.
`;

const WEBHOOK = `
## Webhook

Port 9443, HTTPS with the product's own authority.

`;

const OPERATOR = `
## Operator

Port 8081.

`;

const REPORTER = `
## Agent

What the reporter answers inside the agent's own server; the sidecar asks both, \`/health\`, \`/capabilities\` and \`/.well-known/agent-card.json\`.

| Method | Path | Answer |
| --- | --- | --- |
| GET | \`/platform/health\` | The health report: \`{agentName, timestamp, status, summary, checks[]}\`; 503 where it was never started. |
| GET | \`/platform/usage\` | Tokens by model since the last heartbeat that was shipped, else since the start. |
`;

/** `docs/reference/routes.md`. */
export async function routesReferencePage(): Promise<string> {
  const metrics = createMetrics();
  // The tables only hand their dependencies to the handlers, and none of those runs.
  const sidecar = sidecarRoutes({ metrics: createMetrics() } as SidecarContext, () => 0);
  const operator = processRoutes({ metrics, unready: () => null });
  const webhook = webhookRoutes({ metrics } as WebhookContext);
  return [
    INTRODUCTION,
    accessTable(sidecar, ({ path }) => (OPEN_PATHS.has(path) ? 'open' : 'local')),
    CONTROL_PLANE,
    await controlPlaneTable(),
    AGENTS,
    WEBHOOK,
    plainTable(webhook),
    OPERATOR,
    plainTable(operator),
    REPORTER,
  ].join('');
}

const plainTable = (routes: readonly Route[]): string =>
  markdownTable(
    ['Method', 'Path', 'Answer'],
    routes.map(({ method, path, summary }) => [method, `\`${path}\``, summary]),
  );

function accessTable(routes: readonly Route[], accessOf: (route: Route) => string): string {
  return markdownTable(
    ['Method', 'Path', 'Access', 'Answer'],
    routes.map((route) => [route.method, `\`${route.path}\``, accessOf(route), route.summary]),
  );
}

/** Which credential a route wants is asked of the application itself: by its answer to a request without any. */
async function controlPlaneTable(): Promise<string> {
  const context = controlPlaneContext();
  const routes = controlPlaneRoutes(context);
  const listener = await listen({ handler: createControlPlaneApp(context), port: 0, host: '127.0.0.1' });
  try {
    const access = new Map<Route, string>();
    for (const route of routes) {
      const response = await fetch(`http://127.0.0.1:${listener.port}${route.path}`, {
        method: route.method,
      });
      await response.body?.cancel();
      access.set(route, ACCESS[response.headers.get('www-authenticate') ?? ''] ?? 'unknown');
    }
    return accessTable(routes, (route) => access.get(route) ?? 'unknown');
  } finally {
    await listener.close();
  }
}

/** Words for what `WWW-Authenticate` asks for. */
const ACCESS: Readonly<Record<string, string>> = {
  '': 'none',
  'X-Admin-Key': 'admin',
  Bearer: 'bearer',
};

function controlPlaneContext(): ControlPlaneContext {
  const config = readConfig({ PLATFORM_ADMIN_KEY: 'a-key-that-nobody-sends' });
  if (!config.ok) throw new Error('the defaults of the control plane are not valid');
  return createContext({
    config: config.config,
    logger: silentLogger,
    metrics: createMetrics(),
    // No request gets as far as the store, but for /readyz.
    store: { unready: () => null } as Store,
    pods: null,
  });
}
