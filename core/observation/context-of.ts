import { ANNOTATIONS } from '../injection/annotations.ts';
import type { Activity } from './activity.ts';
import type { AgentObservation } from './observation.ts';
import { present } from '../untrusted/present.ts';
import type { ObservationContext } from './status-of.ts';

/** Annotations of the AgentObservation: the lowest grade and the minimum evidence that count as compliant. */
export const COMPLIANT_GRADE_ANNOTATION = ANNOTATIONS.compliantGrade.name;
export const COMPLIANT_EVIDENCE_ANNOTATION = ANNOTATIONS.compliantEvidence.name;

/**
 * The settings of an AgentObservation that its status depends on. Every writer must use them; otherwise two writers would
 * keep overwriting each other. Annotations with invalid values are ignored.
 * @param activity activity of the workload; only the operator passes it
 */
export function contextOf(
  observation: Pick<AgentObservation, 'metadata' | 'spec'>,
  activity?: Activity,
): ObservationContext {
  const { annotations, generation } = observation.metadata;
  const grade = ANNOTATIONS.compliantGrade.read(annotations?.[COMPLIANT_GRADE_ANNOTATION] ?? '');
  const evidence = ANNOTATIONS.compliantEvidence.read(annotations?.[COMPLIANT_EVIDENCE_ANNOTATION] ?? '');
  return present({
    activity,
    // A registered agent is expected to report from its registration. Only the operator knows the pods of a workload.
    hasStarted: observation.spec.source === 'remote' || undefined,
    heartbeatSeconds: observation.spec.heartbeatSeconds ?? 30,
    compliantGrade: grade.ok ? grade.value : undefined,
    compliantEvidence: evidence.ok ? evidence.value : undefined,
    observedGeneration: generation,
  });
}
