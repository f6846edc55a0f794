import type { AgentObservation } from './observation.ts';

/** Label of the AgentObservation of an agent that reports to another control plane. Only the operator writes the object. */
export const MIRRORED_LABEL = 'platform.io/mirrored';
/** Id of the agent in the other control plane, used to find the observation. */
export const MIRRORED_AGENT_ANNOTATION = 'platform.io/mirrored-agent';
/** URL of the other control plane, and the agent's namespace there. */
export const MIRRORED_FROM_ANNOTATION = 'platform.io/mirrored-from';
export const MIRRORED_NAMESPACE_ANNOTATION = 'platform.io/mirrored-namespace';
/** Reason of the conditions that the agent list of the other control plane does not cover. */
export const MIRRORED_REASON = 'Mirrored';

/** Whether the agent is mirrored. An agent with keys was registered here and is never mirrored, even if it has the label. */
export function isMirrored({ metadata, spec, status }: AgentObservation): boolean {
  return (
    spec.source === 'remote' &&
    metadata.labels?.[MIRRORED_LABEL] === 'true' &&
    (status?.tokenHashes ?? []).length === 0
  );
}
