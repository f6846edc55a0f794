import type { Grade } from '../gap/gap.ts';
import type { Activity } from './activity.ts';
import type { InstanceStatus, Phase } from './observation.ts';
import type { VerdictRow } from './verdict.ts';

/** What the conditions are judged by. */
export interface ConditionInput {
  phase: Phase;
  /** Without what local proofs add to it. */
  score: number | undefined;
  /** The same, less what local proofs may add to it where a sidecar does not say. */
  sureScore: number | undefined;
  /** All listed instances, and those of them that were heard from lately. */
  instances: readonly InstanceStatus[];
  live: readonly InstanceStatus[];
  /** Instances that were heard from lately and are only counted. */
  unlisted: number;
  activity: Activity;
  /** ISO 8601; undefined: never. */
  lastChecked: string | undefined;
  /** The lowest grade that counts as compliant. */
  compliantGrade: Grade;
  /** The least evidence that counts as compliant, in percent of the declared items. */
  compliantEvidence: number;
}

export type ConditionRow = VerdictRow<ConditionInput>;

/** Whether an instance has this state of its policy engine. */
export const someIs =
  (state: InstanceStatus['policyState']) =>
  ({ live }: ConditionInput): boolean =>
    live.some((instance) => instance.policyState === state);
