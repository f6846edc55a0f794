import type { ApiServerOutage } from '../../outage-log.ts';
import { KubeError } from '../../../kube/client.ts';
import { isMirrored } from '../../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import { Problem } from '../../../runtime/problem.ts';
import { tryAgain } from '../../try-again.ts';
import type { AgentKey } from '../store.ts';

/** The API server is unreachable or did not accept a write; the sender retries. */
export function unavailable(detail: string): Problem {
  return tryAgain(detail, 2);
}

/** The pending heartbeats are at the limit that a crash may lose, so the sender must retry later. */
export function overloaded(): Problem {
  return tryAgain('the API server does not keep up with heartbeat writes; try again', 10);
}

/** A mirrored agent reports to its own control plane, and the operator copies the result. Throws a 409. */
export function rejectMirrored(object: AgentObservation): void {
  if (!isMirrored(object)) return;
  throw new Problem(
    409,
    `${object.metadata.name} is mirrored from another control plane; use that control plane`,
  );
}

/** The agent was removed during the request. */
export function gone({ name }: AgentKey): Problem {
  return unavailable(`${name} was removed concurrently; try again`);
}

/** The result of requests to the API server; throws a Problem 503 if it is unreachable or returns an error. */
export async function guarded<T>(apiServer: ApiServerOutage, request: Promise<T>): Promise<T> {
  try {
    const result = await request;
    apiServer.succeeded();
    return result;
  } catch (error) {
    // A DOMException is a timeout: the API server was slower than a sender waits.
    if (!(error instanceof KubeError || error instanceof DOMException)) throw error;
    apiServer.failed(error);
    throw unavailable('the API server is unavailable; try again');
  }
}
