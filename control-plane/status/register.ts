import type { ObservationStatus } from '../../core/observation/observation.ts';
import { statusOf, type ObservationContext } from '../../core/observation/status-of.ts';
import type { Registration } from '../stores/store.ts';

/**
 * The status after a registration. A new agent is Pending; a known agent keeps its id and its reports. The values from the
 * manifest apply until the agent reports its own.
 */
export function registeredStatus(
  known: ObservationStatus | undefined,
  registration: Registration & { agentId: string },
  about: { at: Date; context: ObservationContext },
): ObservationStatus {
  const { agentId, runtime, manifest } = registration;
  const declared = manifest === null ? {} : { manifestHash: manifest.hash, model: manifest.model };
  const before: ObservationStatus = { ...(known ?? { phase: 'Pending' }), ...declared, agentId, runtime };
  return statusOf(before, about.at, about.context);
}
