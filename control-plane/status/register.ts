import type { ObservationStatus } from '../../core/observation/observation.ts';
import { statusOf, type ObservationContext } from '../../core/observation/status-of.ts';
import type { Registration } from '../stores/store.ts';

/**
 * The status after a registration: a new agent is Pending, a known one keeps its id and what it has reported. What
 * the manifest says holds until the agent reports the same itself.
 */
export function registeredStatus(
  known: ObservationStatus | undefined,
  registration: Registration & { agentId: string },
  about: { at: Date; context: ObservationContext },
): ObservationStatus {
  const { agentId, runtime, manifest } = registration;
  const told = manifest === null ? {} : { manifestHash: manifest.hash, model: manifest.model };
  const before: ObservationStatus = { ...(known ?? { phase: 'Pending' }), ...told, agentId, runtime };
  return statusOf(before, about.at, about.context);
}
