import { ANNOTATIONS } from '../injection/annotations.ts';
import type { Activity } from './activity.ts';
import type { AgentObservation } from './observation.ts';
import type { ObservationContext } from './status-of.ts';

/** On the AgentObservation: the lowest grade and the least evidence that count as compliant. */
export const COMPLIANT_GRADE_ANNOTATION = ANNOTATIONS.compliantGrade.name;
export const COMPLIANT_EVIDENCE_ANNOTATION = ANNOTATIONS.compliantEvidence.name;

/**
 * What the object itself says about how its status is to be computed; every writer must use it, or two would write
 * against each other. An annotation with a value that is not valid is ignored.
 * @param activity what the operator sees of the workload; nobody else does
 */
export function contextOf(
  observation: Pick<AgentObservation, 'metadata' | 'spec'>,
  activity?: Activity,
): ObservationContext {
  const { annotations, generation } = observation.metadata;
  const grade = ANNOTATIONS.compliantGrade.read(annotations?.[COMPLIANT_GRADE_ANNOTATION] ?? '');
  const evidence = ANNOTATIONS.compliantEvidence.read(annotations?.[COMPLIANT_EVIDENCE_ANNOTATION] ?? '');
  return {
    ...(activity === undefined ? {} : { activity }),
    heartbeatSeconds: observation.spec.heartbeatSeconds ?? 30,
    ...(grade.ok ? { compliantGrade: grade.value } : {}),
    ...(evidence.ok ? { compliantEvidence: evidence.value } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}
