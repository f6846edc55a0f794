import type { AgentObservation } from './observation.ts';

/** On the AgentObservation of an agent that reports to a control plane elsewhere; the operator alone writes it. */
export const MIRRORED_LABEL = 'platform.io/mirrored';
/** The agent's id where it reports: by it the observation is found again. */
export const MIRRORED_AGENT_ANNOTATION = 'platform.io/mirrored-agent';
/** Where it was read, and the namespace that it has there. */
export const MIRRORED_FROM_ANNOTATION = 'platform.io/mirrored-from';
export const MIRRORED_NAMESPACE_ANNOTATION = 'platform.io/mirrored-namespace';

/** An agent that was registered here has keys, and stays registered whatever somebody puts on its observation. */
export function isMirrored({ metadata, spec, status }: AgentObservation): boolean {
  return (
    spec.source === 'remote' &&
    metadata.labels?.[MIRRORED_LABEL] === 'true' &&
    (status?.tokenHashes ?? []).length === 0
  );
}
