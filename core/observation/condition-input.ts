import type { ObservedStop } from '../shapes/agent-stop.ts';
import type { Grade, Phase } from '../shapes/values.ts';
import type { Activity } from './activity.ts';
import type { InstanceStatus } from '../shapes/instance.ts';
import type { OrganisationStatus } from '../shapes/organisation.ts';
import type { TableRow } from './condition-table.ts';

/** Input for the states of the conditions. */
export interface ConditionInput {
  phase: Phase;
  /** Lowest score without local proofs. */
  score: number | undefined;
  /** Like `score`, but assumes that local proofs count if a sidecar does not report whether they count. */
  worstCaseScore: number | undefined;
  /** All listed instances; `live`: those with a recent heartbeat. */
  instances: readonly InstanceStatus[];
  live: readonly InstanceStatus[];
  /** Number of instances with a recent heartbeat that are not listed. */
  unlisted: number;
  activity: Activity;
  /** ISO 8601; undefined: no heartbeat yet. */
  lastChecked: string | undefined;
  /** ISO 8601; see the status. */
  awaitedSince: string | undefined;
  /** Critical issues of the last 24 hours under a manifest that a live instance has. */
  recentCriticalIssues: readonly string[];
  /** The lowest grade that counts as compliant. */
  compliantGrade: Grade;
  /** The minimum evidence that counts as compliant, in percent of the declared items. */
  compliantEvidence: number;
  /** undefined: no rule of the organisation selects the agent. */
  organisation: OrganisationStatus | undefined;
  /** undefined: the agent is not stopped. */
  stop: ObservedStop | undefined;
}

export type ConditionRow = TableRow<ConditionInput>;

/** Whether at least one live instance reports this state of its policy engine. */
export const hasPolicyState =
  (state: InstanceStatus['policyState']) =>
  ({ live }: ConditionInput): boolean =>
    live.some((instance) => instance.policyState === state);
