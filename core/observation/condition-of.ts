import type { Condition, ConditionType } from '../shapes/condition.ts';
import type { ObservationStatus } from '../shapes/observation.ts';

/** The condition of this type; undefined: no process has written it yet. */
export function conditionOf(
  status: Pick<ObservationStatus, 'conditions'> | undefined,
  type: ConditionType,
): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
