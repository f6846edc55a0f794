import { controlPlaneRoutes } from '../control-plane/app.ts';
import { CONTROL_PLANE_FIELDS, readConfig } from '../control-plane/config.ts';
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

/** What each variable does; the types make the table complete. */
const MEANINGS: Readonly<Record<keyof typeof CONTROL_PLANE_FIELDS, string>> = {
  LOG_LEVEL: 'How much is logged.',
  LOG_FORMAT: 'Unset: text where standard error is a terminal, else JSON.',
  PORT: 'The port of the API.',
  PLATFORM_ADMIN_KEY:
    'Checked against `X-Admin-Key`. Unset: admin routes and registration answer 503, and the rest works.',
  JWT_SECRET:
    'Signs the keys of registered agents. Unset: derived from the admin key (HKDF-SHA-256). Neither set: such keys are refused.',
  STORE:
    'Where agents are kept. Unset: `kubernetes` in a cluster, else `sqlite`. With `sqlite` in a cluster the database answers and the AgentObservations are written all the same.',
  DATA_DIR: 'Folder of the SQLite database, `control-plane.sqlite`; made where it is missing.',
  DATABASE_URL: 'Kept for the PostgreSQL store.',
  RATE_LIMIT_SECONDS: 'The least time between two accepted heartbeats of one instance; 0: no limit.',
  REMOTE_NAMESPACE: 'Namespace of registered agents, and of their AgentObservations.',
  TLS_CERT_FILE:
    'Certificate (PEM, with its chain); with TLS_KEY_FILE the API speaks HTTPS. Changed files are taken over within ten seconds, without a restart.',
  TLS_KEY_FILE: 'The key of TLS_CERT_FILE.',
  KUBERNETES_SERVICE_HOST: 'Set by the kubelet in every container: says that this process runs in a cluster.',
  KUBECONFIG: 'The cluster to use, where it is not the own one.',
};

const ROUTES = `
## Routes

Errors are \`application/problem+json\` (RFC 9457). *Admin* routes need the header \`X-Admin-Key\`: 401 without it, 403 where
it is wrong, 503 where none is configured. *Bearer* routes need \`Authorization: Bearer <key>\`: the key that registration
gave, or in a cluster the projected ServiceAccount token of a pod (audience \`platform.io\`).

| Route | Access | Answer |
| --- | --- | --- |
`;

/** Access and answer by route; a route that is missing here, or here alone, fails the generation. */
const ANSWERS: Readonly<Record<string, readonly [access: 'none' | 'admin' | 'bearer', answer: string]>> = {
  'GET /livez': ['none', '200 while the process runs.'],
  'GET /readyz': ['none', '200 while it can serve; 503 with the reason, and while it stops.'],
  'GET /metrics': ['none', 'Prometheus text.'],
  'POST /api/v1/register': [
    'admin',
    'Body `{agentName, runtime, manifest?}`. 201 `{agentId, apiKey, expiresAt}`; 200 for a known agent: same id, new key, every older key revoked. The key is a JWT of 30 days. 409 for the name of a workload.',
  ],
  'POST /api/v1/token': [
    'bearer',
    '200 with a fresh key for a still valid one, which lives to its own expiry. 429 where 100 keys live. 403 for pods.',
  ],
  'POST /api/v1/heartbeat': [
    'bearer',
    '204, or 200 with what the sender should know: `{proof?, proofRevision?, othersToday?, intervalSeconds?}`. A repeat (same `instance`, `startedAt`, `seq`) is 204 and changes nothing. 400 with `errors`; 401; 403 for a pod without agent; 413 over 64 KiB; 429 with `Retry-After` inside RATE_LIMIT_SECONDS; 503 with `Retry-After` while the observation of a new workload is not there yet.',
  ],
  'GET /api/v1/agents': [
    'admin',
    '`[{agentId, agentName, namespace, runtime, phase, grade, score, tokens, lastSeen}]` by namespace and name; what nobody has reported is null. `?limit=` (1..1000, default 500), `?continue=`, `?phase=`, `?grade=`, `?namespace=`; `X-Total-Count`, and `Link: <…>; rel="next"` while there is more.',
  ],
  'DELETE /api/v1/agents/:name': [
    'admin',
    '204: its keys are revoked and its data removed. 409 for a workload of the cluster, which goes with the workload.',
  ],
  'GET /api/v1/agents/:name/gap': ['admin', 'The last gap report, with `receivedAt` and `instance`.'],
  'GET /api/v1/agents/:name/health': ['admin', 'The last health report, with `receivedAt` and `instance`.'],
  'GET /api/v1/agents/:name/usage': [
    'admin',
    'The last usage window, with `receivedAt` and `instance`; 404 where the heartbeat had none.',
  ],
  'GET /api/v1/agents/:name/proof': ['admin', 'The proof records; elapsed ones carry `expired: true`.'],
  'POST /api/v1/agents/:name/proof/rule/:ruleId': [
    'admin',
    'Body `{verifiedBy, method, expiresAt?}`. 201 with the record; it replaces the last one, and reaches the agent with the reply to its next heartbeat. 400 for an unknown rule, with `validIds`.',
  ],
  'DELETE /api/v1/agents/:name/proof/rule/:ruleId': ['admin', '204; 404 without a record.'],
};

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
    .map(([name, { wanted }]) => row(`\`${name}\``, wanted, MEANINGS[name as keyof typeof MEANINGS]))
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
  const names = controlPlaneRoutes(context).map(({ method, path }) => `${method} ${path}`);
  const unknown = Object.keys(ANSWERS).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`described, and no route: ${unknown.join(', ')}`);
  return names
    .map((name) => {
      const described = ANSWERS[name];
      if (described === undefined) throw new Error(`no description of the route ${name}`);
      return row(`\`${name}\``, ...described);
    })
    .join('');
}

const row = (...cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
