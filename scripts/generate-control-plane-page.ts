import { controlPlaneRoutes } from '../control-plane/app.ts';
import { CONTROL_PLANE_FIELDS, CONTROL_PLANE_SUMMARIES, readConfig } from '../control-plane/config.ts';
import { createContext } from '../control-plane/context.ts';
import type { Store } from '../control-plane/stores/store.ts';
import { silentLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';

const INTRODUCTION = `# Control plane

<!-- Made by scripts/generate.ts from control-plane/config.ts and the route table of control-plane/app.ts. Do not edit. -->

The REST API of the fleet: agents push heartbeats to it, and it keeps what each of them last reported.

## Variables

A wrong value stops the start with exit code 1; all problems are named at once. An empty value counts as unset.

| Variable | Accepted | Meaning |
| --- | --- | --- |
`;

const ROUTES = `
## Routes

Errors are \`application/problem+json\` (RFC 9457). *Admin* routes need the header \`X-Admin-Key\`: 401 without it, 403 where
it is wrong, 503 where none is configured. *Bearer* routes need \`Authorization: Bearer <key>\`: the key that registration
gave, or in a cluster the projected ServiceAccount token of a pod (audience \`platform.io\`).

| Route | Access | Answer |
| --- | --- | --- |
`;

/** Routes whose caller proves itself by a key of its own. */
const BEARER = ['/api/v1/token', '/api/v1/heartbeat'];

const BEHAVIOUR = `
The routes under \`/agents/:name\` take \`?namespace=\`, and answer 409 with the \`namespaces\` where a name is in several and
none is given; 404 for an unknown agent, and for a report before the first heartbeat. The reports are those of the worst
live instance; \`?instance=\` asks for another one. The SQLite store has the full report of every instance. The Kubernetes
store has that of the worst one, and of the others a summary, in which lists are null.

## Who an agent is

What the credential says, never what the body says. A registration key speaks for the agent that was registered; the
\`instance\` is the sender's own. The token of a pod must be bound to that pod, the pod must live under the same uid, and
its label \`platform.io/agent\` is the agent's name; the instance is the pod. Answers of the API server are believed for a
minute at most, refusals for five seconds.

## What survives

Keys and proofs are stored before they are answered. With the SQLite store that holds for every heartbeat too; it keeps
the last hundred of each agent. The Kubernetes store writes a change of phase, grade, score, violations, proofs or of a
condition at once, and anything else at most once in the smaller of 60 seconds and two heartbeat intervals; a crash may
lose what waits, an orderly stop does not. An instance that was not heard from for an hour is forgotten once others
report.
`;

export function controlPlaneReferencePage(): string {
  return INTRODUCTION + variables() + ROUTES + routes() + BEHAVIOUR;
}

function variables(): string {
  return Object.entries(CONTROL_PLANE_FIELDS)
    .map(([name, { wanted }]) =>
      row(`\`${name}\``, wanted, CONTROL_PLANE_SUMMARIES[name as keyof typeof CONTROL_PLANE_FIELDS]),
    )
    .join('');
}

function routes(): string {
  const config = readConfig({});
  if (!config.ok) throw new Error('the defaults are not valid');
  // The table alone is asked for: no handler runs, so no store is needed.
  const context = createContext({
    config: config.config,
    logger: silentLogger,
    metrics: createMetrics(),
    store: {} as Store,
    pods: null,
  });
  return controlPlaneRoutes(context)
    .map(({ method, path, summary, handlers }) => {
      const bearer = BEARER.includes(path) ? 'bearer' : 'none';
      const access = handlers.includes(context.requireAdmin) ? 'admin' : bearer;
      return row(`\`${method} ${path}\``, access, summary);
    })
    .join('');
}

const row = (...cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
