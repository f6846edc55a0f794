import type { Grade } from '../gap/gap.ts';
import type { Activity } from './activity.ts';
import type { AgentObservation } from './observation.ts';
import type { ObservationContext } from './status-of.ts';

/** On the AgentObservation: the lowest grade that counts as compliant. */
export const COMPLIANT_GRADE_ANNOTATION = 'platform.io/compliant-grade';

const GRADES: readonly Grade[] = ['A', 'B', 'C', 'D', 'F'];

/**
 * What the object itself says about how its status is to be computed; every writer must use it, or two would write
 * against each other. An annotation that is no grade is as good as none.
 * @param activity what the operator sees of the workload; nobody else does
 */
export function contextOf(
  observation: Pick<AgentObservation, 'metadata' | 'spec'>,
  activity?: Activity,
): ObservationContext {
  const { annotations, generation } = observation.metadata;
  const grade = GRADES.find((each) => each === annotations?.[COMPLIANT_GRADE_ANNOTATION]);
  return {
    ...(activity === undefined ? {} : { activity }),
    heartbeatSeconds: observation.spec.heartbeatSeconds ?? 30,
    ...(grade === undefined ? {} : { compliantGrade: grade }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}
