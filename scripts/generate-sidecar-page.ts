import { sidecarRoutes } from '../sidecar/app.ts';
import type { SidecarContext } from '../sidecar/context.ts';

const ROUTES: Record<string, string> = {
  'GET /health/live': 'The process runs. Open.',
  'GET /health/ready':
    'The checks of the agent and what it needs: 200 `ready` or `degraded`, 503 `not-ready`. Open, without its body.',
  'GET /readyz': 'Whether the sidecar itself can serve, for the kubelet: 503 while it stops. Open.',
  'GET /gap': 'Score, grade and issues; `?view=alignment` tells the same as declared against observed.',
  'GET /explore': 'What the agent is made of; `null` for what is not known.',
  'GET /usage': "Tokens by model, from the agent's own report, else from the audit ring.",
  'GET /capabilities': 'The A2A agent card that follows from the manifest. Open.',
  'GET /.well-known/agent-card.json': 'The same card. Open.',
  'GET /audit':
    'Entries of the ring, oldest first: `?limit=N` the newest N; `?since=<seq or requestId>` what came after. Headers `X-Platform-Audit-First`, `-Last`, `-Dropped`.',
  'POST /events': 'Behavior that the agent reports about one request: 200 recorded, 202 no such request.',
  'GET /proof': 'All proofs.',
  'GET /proof/rule/:ruleId': 'One proof.',
  'POST /proof/rule/:ruleId': 'Submits a proof, in the place of an earlier one: 201.',
  'DELETE /proof/rule/:ruleId': 'Removes a proof: 204.',
  'GET /metrics': 'Prometheus metrics. Open.',
};

const INTRODUCTION = `# The sidecar's routes

<!-- Made by scripts/generate.ts from sidecar/app.ts. Do not edit. -->

On port 4001, each also under \`/platform\`. Errors are \`application/problem+json\` (RFC 9457). With
\`CONTROL_ACCESS=local\` only the routes marked open are answered from outside loopback. What the proxy on port 4000 does
with a request is told in [the sidecar's page](../sidecar.md).

| Method | Path | Answer |
| --- | --- | --- |
`;

/** `docs/reference/sidecar.md`. Throws when a route has no description. */
export function sidecarReferencePage(): string {
  // The table only names its handlers' dependencies; none of them is used before a request comes.
  const routes = sidecarRoutes({} as SidecarContext, () => 0).map(({ method, path }) => {
    const meaning = ROUTES[`${method} ${path}`];
    if (meaning === undefined) throw new Error(`${method} ${path} has no description`);
    return `| ${method} | \`${path}\` | ${meaning.replaceAll('|', '\\|')} |\n`;
  });
  return INTRODUCTION + routes.join('');
}
