import type { Response } from 'express';
import { readyOf } from '../../core/health/check.ts';
import { comesOverLoopback, isBodyHidden, type SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';

/**
 * Duration of a drain: longer than the idle time-out of a keep-alive connection and the shutdown of nearly any pod. The route
 * is open to every client in the network, so its effect is harmless and temporary.
 */
const DRAIN_SECONDS = 300;

/** Milliseconds for which an assessment is reused for clients outside loopback. */
const OUTSIDE_AGE_MS = 1_000;

export function healthRoutes(context: SidecarContext): SidecarRoute[] {
  return [
    {
      method: 'GET',
      path: '/health/live',
      access: 'open',
      summary: 'Returns `{"status": "live"}` while the process runs.',
      handlers: [(_request, response) => void response.json({ status: 'live' })],
    },
    {
      method: 'GET',
      path: '/health/ready',
      access: 'open',
      summary:
        "Checks the agent and its dependencies: 200 `ready` or `degraded`, 503 `not-ready`. Has a `note` if the agent's report is invalid. Requests from outside loopback cause at most one probe run per second.",
      handlers: [
        async (request, response) => {
          const isLocal = comesOverLoopback(request) && !isBodyHidden(response);
          const { assessor } = context;
          const { health, gap, facts } = await (isLocal
            ? assessor.assess()
            : assessor.assessWithin(OUTSIDE_AGE_MS));
          const report = readyOf(health, gap.source, facts.invalidReport);
          response.status(report.status === 'not-ready' ? 503 : 200);
          if (isBodyHidden(response)) response.end();
          else response.json(report);
        },
      ],
    },
    {
      method: 'GET',
      path: '/readyz',
      access: 'open',
      summary:
        'For the kubelet: 200 while the sidecar itself can serve, 503 while it shuts down. Contains the policy mode and engine.',
      handlers: [(_request, response) => answerReadyz(context, response)],
    },
    {
      method: 'GET',
      path: '/drain',
      access: 'open',
      summary: `For the kubelet, when the pod terminates: for ${DRAIN_SECONDS} seconds the proxy closes each connection after its next response (\`Connection: close\`), so that clients connect to another pod while the agent still serves. No request is rejected.`,
      handlers: [(_request, response) => drain(context, response)],
    },
  ];
}

/** Readiness of the sidecar itself, independent of the agent. */
function answerReadyz({ isDraining, config }: SidecarContext, response: Response): void {
  response.status(isDraining ? 503 : 200).json({
    status: isDraining ? 'draining' : 'ok',
    policy: { mode: config.POLICY_PROXY_MODE, engine: config.POLICY_ENGINE },
  });
}

/**
 * Called by the kubelet when the pod terminates, together with the agent's SIGTERM. The sidecar receives its own SIGTERM only
 * after the agent has ended; until then a keep-alive client would stay on this pod and lose its next request.
 */
function drain(context: SidecarContext, response: Response): void {
  context.connectionsEndUntilMs = context.clock.monotonicMs() + DRAIN_SECONDS * 1_000;
  response.json({ forSeconds: DRAIN_SECONDS });
}
