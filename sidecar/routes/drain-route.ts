import type { Route } from '../../runtime/http-app.ts';
import type { SidecarContext } from '../context.ts';

/**
 * Seconds that it lasts: longer than a kept-alive connection lives without a request, and than nearly any pod takes to
 * end. Whoever can reach the pod can ask for it, so it is nothing that harms, and ends by itself.
 */
const DRAIN_SECONDS = 300;

/**
 * The kubelet's news that the pod ends, which comes with the agent's SIGTERM; the sidecar's own comes only once the agent
 * has ended. A client that keeps its connection would stay on this pod until then, and lose its next request.
 */
export function drainRoute(context: SidecarContext): Route {
  return {
    method: 'GET',
    path: '/drain',
    summary: `For the kubelet, when the pod ends: for ${DRAIN_SECONDS} seconds each connection to the agent ends with its next answer (\`Connection: close\`), so that clients go elsewhere while the agent still serves. Nothing is refused.`,
    handlers: [
      (_request, response) => {
        context.connectionsEndUntilMs = context.clock.monotonicMs() + DRAIN_SECONDS * 1_000;
        response.json({ forSeconds: DRAIN_SECONDS });
      },
    ],
  };
}
