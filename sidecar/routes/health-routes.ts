import type { Request, Response } from 'express';
import { readyOf } from '../../core/health/check.ts';
import type { OperationResponse } from '../../core/openapi/operation.ts';
import { present } from '../../core/untrusted/present.ts';
import { Problem } from '../../runtime/problem.ts';
import { comesOverLoopback, isBodyHidden, KubeletAddresses, type SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';

/**
 * Duration of a drain: longer than the idle time-out of a keep-alive connection and the shutdown of nearly any pod. The route
 * has no credentials, so its effect is harmless and temporary.
 */
const DRAIN_SECONDS = 300;

const NOT_KUBELET = 'this route is available in the pod, and at the address of its first probes';

/** Milliseconds for which an assessment is reused for clients outside loopback. */
const OUTSIDE_AGE_MS = 1_000;

/** A 503 with a report, not with a problem document. */
const notReady = (description: string, schema: string): OperationResponse => ({
  description,
  schema,
  contentType: 'application/json',
});

export function healthRoutes(context: SidecarContext): SidecarRoute[] {
  return [
    {
      method: 'GET',
      path: '/health/live',
      access: 'open',
      summary: 'Returns `{"status": "live"}` while the process runs.',
      operation: { id: 'getLiveness', responses: { 200: { description: 'Live.', schema: 'Liveness' } } },
      handlers: [(_request, response) => void response.json({ status: 'live' })],
    },
    {
      method: 'GET',
      path: '/health/ready',
      access: 'open',
      summary:
        "Checks the agent and its dependencies: 200 `ready` or `degraded`, 503 `not-ready`. Has a `note` if the agent's report is invalid. Requests from outside loopback cause at most one probe run per second.",
      operation: {
        id: 'getAgentReadiness',
        responses: {
          200: { description: 'Ready or degraded. No body outside loopback.', schema: 'ReadyReport' },
          503: notReady('Not ready. No body outside loopback.', 'ReadyReport'),
        },
      },
      handlers: [(request, response) => responseReady(context, request, response)],
    },
    ...kubeletRoutes(context),
  ];
}

function kubeletRoutes(context: SidecarContext): SidecarRoute[] {
  const kubelet = new KubeletAddresses(context.clock);
  return [
    {
      method: 'GET',
      path: '/readyz',
      access: 'open',
      summary:
        'For the kubelet: 200 while the sidecar itself can serve, 503 while it shuts down. Before the first 200, 503 until the rules of the organisation allow the manifest: `{"status": "not-allowed", "findings": [...]}`. Contains the policy mode and engine, the id of a stop of the agent, and `nonce` if `START_NONCE` is set.',
      operation: {
        id: 'getReadiness',
        responses: {
          200: { description: 'Ready.', schema: 'SidecarReadiness' },
          503: notReady(
            'Shutting down, or the rules of the organisation do not allow the manifest (`not-allowed`), or are not known yet (`judging`).',
            'SidecarReadiness',
          ),
        },
      },
      handlers: [
        (request, response) => {
          kubelet.add(request.socket);
          responseReadyz(context, response);
        },
      ],
    },
    {
      method: 'GET',
      path: '/drain',
      access: 'open',
      summary: `For the kubelet, when the pod terminates: for ${DRAIN_SECONDS} seconds the proxy closes each connection after its next response (\`Connection: close\`), so that clients connect to another pod while the agent still serves. No request is rejected. With \`CONTROL_ACCESS=local\`, only the pod itself and the address of the kubelet, from which the first requests to \`/readyz\` came, have access. Others get 403.`,
      operation: {
        id: 'drainConnections',
        responses: {
          200: { description: 'Draining has begun.', schema: 'Drain' },
          403: 'With CONTROL_ACCESS=local: the client is neither the kubelet nor in the pod.',
        },
      },
      handlers: [
        ({ socket }, response) => {
          if (context.config.CONTROL_ACCESS === 'local' && !kubelet.has(socket))
            throw new Problem(403, NOT_KUBELET);
          drain(context, response);
        },
      ],
    },
  ];
}

/** Health of the agent. The sidecar reuses a recent assessment for clients outside loopback. */
async function responseReady(
  { assessor }: SidecarContext,
  request: Request,
  response: Response,
): Promise<void> {
  const isLocal = comesOverLoopback(request) && !isBodyHidden(response);
  const assessment = isLocal ? assessor.assess() : assessor.assessWithin(OUTSIDE_AGE_MS);
  const { health, gap, facts } = await assessment;
  const report = readyOf(health, gap.source, facts.invalidReport);
  response.status(report.status === 'not-ready' ? 503 : 200);
  if (isBodyHidden(response)) response.end();
  else response.json(report);
}

/**
 * Readiness of the sidecar itself, independent of the agent. Until it is ready for the first time, the kubelet does not start the agent,
 * so this is where the organisation prevents a start.
 */
function responseReadyz(
  { isDraining, config, organisation, stop }: SidecarContext,
  response: Response,
): void {
  const { state, findings } = organisation;
  const start = state === 'open' ? 'ok' : state;
  const status = isDraining ? 'draining' : start;
  response.status(status === 'ok' ? 200 : 503).json({
    status,
    policy: { mode: config.POLICY_PROXY_MODE, engine: config.POLICY_ENGINE },
    ...present({ nonce: config.START_NONCE, stop: stop.current?.id }),
    ...(status === 'not-allowed' && { findings }),
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
