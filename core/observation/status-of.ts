import { OUTCOMES, type OutcomeCounts } from '../behavior/audit-entry.ts';
import type { Grade } from '../gap/gap.ts';
import { DEFAULT_COMPLIANT_EVIDENCE } from '../evidence/evidence.ts';
import { DEFAULT_COMPLIANT_GRADE, gradeOf } from '../gap/grade.ts';
import { activityOf, awaitedSinceOf, silentSinceMs, type Activity } from './activity.ts';
import type { ConditionInput } from './condition-input.ts';
import { conditionsOf } from './conditions.ts';
import type { BriefInstance, InstanceStatus, ObservationStatus, Phase } from './observation.ts';
import { isLive, staleLimitMs, worstOf } from './phase.ts';
import { provedScore, worstCaseProvedScore } from './proved-score.ts';
import { shownOfAgent, withoutLists } from './shown.ts';
import { departed, usedToday, withDeparted } from './tokens.ts';
import { withoutSilentUnlisted } from './worst-instances.ts';

/** Input of a writer in addition to the status. */
export interface ObservationContext {
  /** The lowest grade that counts as compliant (`platform.io/compliant-grade`); default B. */
  compliantGrade?: Grade;
  /** The minimum evidence that counts as compliant, in percent (`platform.io/compliant-evidence`); default 50. */
  compliantEvidence?: number;
  observedGeneration?: number;
  /** Passed by the writer that reads the workload; default: the last known activity. */
  activity?: Activity;
  /** Configured heartbeat interval in seconds, used only while the agent has no instance. Default 30. */
  heartbeatSeconds?: number;
}

const PENDING: ObservationStatus = { phase: 'Pending' };

/**
 * Computes the whole status at `at` for every writer. All aggregates are computed from the instances; the rest is kept. The
 * aggregates are the worst phase, lowest score and most violations of the live instances, and the tokens of all instances.
 * While no instance reports, score, grade and lists keep their last values, and the phase marks them as old.
 */
export function statusOf(
  known: ObservationStatus | undefined,
  at: Date,
  context: ObservationContext = {},
): ObservationStatus {
  const settled = withoutSilentUnlisted(known ?? PENDING, at);
  const { unlisted = [] } = settled;
  const instances = (known?.instances ?? []).map((instance) => withStaleness(instance, at));
  const live = instances.filter((instance) => isLive(instance, at));
  const activity = activityOf(known, context.activity);
  const awaitedSince = awaitedSinceOf(known, { isReporting: live.length > 0, activity, at });
  const silence = { ...withoutComputed(settled), ...(awaitedSince === undefined ? {} : { awaitedSince }) };
  const phase = phaseNow(silence, { live, activity, at, heartbeatSeconds: context.heartbeatSeconds ?? 30 });
  const status: ObservationStatus = {
    ...silence,
    ...(live.length > 0 ? aggregatesOf(live, unlisted) : {}),
    ...shownOfAgent(settled, live),
    ...departed(settled, [], at),
    phase,
    instances,
    instanceCount: instances.length + unlisted.length,
    ...(unlisted.length > 0 ? { unlisted, unlistedCount: unlisted.length } : {}),
  };
  const { observedGeneration } = context;
  if (status.lastChecked !== undefined) status.tokens = usedToday(status, at).tokens;
  if (observedGeneration !== undefined) status.observedGeneration = observedGeneration;
  const input: ConditionInput = {
    ...{ phase, instances, live, activity, unlisted: unlisted.length, lastChecked: status.lastChecked },
    score: lowestOf(live, provedScore) ?? status.score,
    worstCaseScore: lowestOf(live, worstCaseProvedScore) ?? status.score,
    compliantGrade: context.compliantGrade ?? DEFAULT_COMPLIANT_GRADE,
    compliantEvidence: context.compliantEvidence ?? DEFAULT_COMPLIANT_EVIDENCE,
  };
  status.conditions = conditionsOf(known?.conditions ?? [], input, { at, observedGeneration });
  return status;
}

type Computed = 'departedToday' | 'awaitedSince' | 'unlisted' | 'unlistedCount' | 'evidence' | 'audit';

/** Removes the computed members that may be absent. */
function withoutComputed(status: ObservationStatus): Omit<ObservationStatus, Computed> {
  const { departedToday: _departed, awaitedSince: _awaited, ...rest } = status;
  const { unlisted: _unlisted, unlistedCount: _count, ...others } = rest;
  const { evidence: _evidence, audit: _audit, ...kept } = others;
  return kept;
}

/**
 * Removes the instances that no longer exist. Their totals of the day stay in `departedToday`.
 * @param exists whether the instance (a pod, by name and UID) still exists
 */
export function withoutGone(
  known: ObservationStatus,
  exists: (instance: BriefInstance) => boolean,
  at: Date,
): ObservationStatus {
  const { departedToday: _, instances = [], unlisted = [], ...kept } = known;
  const removed = [...instances, ...unlisted].filter((instance) => !exists(instance));
  if (removed.length === 0) return known;
  const rest = {
    ...kept,
    ...withDeparted(known, removed, at),
    instances: instances.filter(exists),
    ...(unlisted.length > 0 ? { unlisted: unlisted.filter(exists) } : {}),
  };
  return removed.some(({ name }) => name === known.reportedBy) ? withoutReport(rest, at) : rest;
}

/**
 * Handles the lists after the instance of `reportedBy` was removed. If all live instances have a score of 100, the lists are
 * cleared, because old issues would contradict the grade. Otherwise the lists stay until the next worst instance reports.
 */
function withoutReport(status: ObservationStatus, at: Date): ObservationStatus {
  const live = (status.instances ?? []).filter((instance) => isLive(instance, at));
  const worst = worstOf(live);
  if (worst === undefined || live.some(({ score }) => score < 100)) return status;
  const { checks: _checks, summary: _summary, usage: _usage, ...kept } = status;
  const { name, lastHeartbeat } = worst;
  const shown = withoutLists(status);
  return { ...kept, ...shown, issues: [], issuesTotal: 0, reportedBy: name, lastChecked: lastHeartbeat };
}

/** Sets the phase of a silent instance to Unknown, because its last report may no longer be true. */
function withStaleness(instance: InstanceStatus, at: Date): InstanceStatus {
  return isLive(instance, at) || instance.phase === 'Unknown' ? instance : { ...instance, phase: 'Unknown' };
}

function phaseNow(
  known: Omit<ObservationStatus, 'departedToday'>,
  now: {
    live: readonly InstanceStatus[];
    activity: Activity;
    at: Date;
    heartbeatSeconds: number;
  },
): Phase {
  const worst = worstOf(now.live);
  if (worst !== undefined) return worst.phase;
  const since = silentSinceMs(known);
  if (since === null || now.activity !== 'running') return 'Pending';
  if ((known.instances ?? []).length > 0) return 'Unknown';
  // All instances were removed, for example in a rollout. The next instance has the stale time to report before the alarm.
  return now.at.getTime() - since > staleLimitMs(now.heartbeatSeconds) ? 'Unknown' : 'Pending';
}

function aggregatesOf(
  live: readonly InstanceStatus[],
  unlisted: readonly BriefInstance[],
): Partial<ObservationStatus> {
  const score = Math.min(...live.map((instance) => instance.score));
  const counted = [...live, ...unlisted].flatMap((instance) => instance.outcomes ?? []);
  return {
    score,
    grade: gradeOf(score),
    violations: Math.max(...live.map((instance) => instance.violations)),
    ...(counted.length > 0 ? { outcomes: counted.reduce(addOutcomes) } : {}),
  };
}

/** undefined: no instance reports. */
function lowestOf(
  live: readonly InstanceStatus[],
  scoreOf: (instance: InstanceStatus) => number,
): number | undefined {
  return live.length === 0 ? undefined : Math.min(...live.map(scoreOf));
}

function addOutcomes(a: OutcomeCounts, b: OutcomeCounts): OutcomeCounts {
  return Object.fromEntries(OUTCOMES.map((each) => [each, a[each] + b[each]])) as OutcomeCounts;
}
