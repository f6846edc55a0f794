import type { SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';

/**
 * Duration in seconds: longer than the idle time-out of a keep-alive connection and the shutdown of nearly any pod. The route
 * is open to every client in the network, so its effect is harmless and temporary.
 */
const DRAIN_SECONDS = 300;

/**
 * Called by the kubelet when the pod terminates, together with the agent's SIGTERM. The sidecar receives its own SIGTERM only
 * after the agent has ended; until then a keep-alive client would stay on this pod and lose its next request.
 */
export function drainRoute(context: SidecarContext): SidecarRoute {
  return {
    method: 'GET',
    path: '/drain',
    access: 'open',
    summary: `For the kubelet, when the pod terminates: for ${DRAIN_SECONDS} seconds the proxy closes each connection after its next response (\`Connection: close\`), so that clients connect to another pod while the agent still serves. No request is rejected.`,
    handlers: [
      (_request, response) => {
        context.connectionsEndUntilMs = context.clock.monotonicMs() + DRAIN_SECONDS * 1_000;
        response.json({ forSeconds: DRAIN_SECONDS });
      },
    ],
  };
}
