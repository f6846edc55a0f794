import type { OutcomeCounts } from '../shapes/outcomes.ts';
import { OUTCOMES } from '../shapes/values.ts';
import type { Grade, Phase } from '../shapes/values.ts';
import { DEFAULT_COMPLIANT_EVIDENCE } from '../evidence/evidence.ts';
import { DEFAULT_COMPLIANT_GRADE, gradeOf } from '../shapes/grade.ts';
import { present } from '../untrusted/present.ts';
import { activityOf, awaitedSinceOf, silentSinceMs, type Activity } from './activity.ts';
import type { ConditionInput } from './condition-input.ts';
import { conditionsOf } from './conditions.ts';
import type { BriefInstance, InstanceStatus } from '../shapes/instance.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { isLive, staleLimitMs, worstOf } from './phase.ts';
import type { AgentStop } from '../organisation/stops.ts';
import { observedStopOf } from './stopped.ts';
import { stateOfAgent, withoutLists } from './reported-state.ts';
import { usedToday, withEnded, withUse } from './tokens.ts';
import { provedScore, withoutSilentUnlisted, worstCaseProvedScore } from './worst-instances.ts';
import { recentCriticalIssues } from './worst-reports.ts';

/** Input of a writer in addition to the status. */
export interface ObservationContext {
  /** The lowest grade that counts as compliant (`platform.io/compliant-grade`); default B. */
  compliantGrade?: Grade;
  /** The minimum evidence that counts as compliant, in percent (`platform.io/compliant-evidence`); default 50. */
  compliantEvidence?: number;
  observedGeneration?: number;
  /** Passed by the writer that reads the workload; default: the last known activity. */
  activity?: Activity;
  /** Whether a new agent is expected to report, because one of its pods has started; default: as known. */
  hasStarted?: boolean;
  /** The stop of the agent; null: it has none. Default: as known. */
  stop?: AgentStop | null;
  /** Configured heartbeat interval in seconds, used only while the agent has no instance. Default 30. */
  heartbeatSeconds?: number;
}

const PENDING: ObservationStatus = { phase: 'Pending' };

/**
 * Computes the whole status at `at` for every writer. All aggregates are computed from the instances; the rest is kept. The
 * aggregates are the worst phase, lowest score and most violations of the live instances, and the tokens of all instances.
 * While no instance reports, score, grade and lists keep their last values, and `oldGrade` and the phase mark them as old.
 */
export function statusOf(
  known: ObservationStatus = PENDING,
  at: Date,
  context: ObservationContext = {},
): ObservationStatus {
  const { compliantGrade = DEFAULT_COMPLIANT_GRADE, compliantEvidence = DEFAULT_COMPLIANT_EVIDENCE } =
    context;
  const { observedGeneration, heartbeatSeconds = 30, hasStarted = false } = context;
  const settled = withUse(withoutSilentUnlisted(known, at), [], at);
  const { unlisted = [] } = settled;
  const instances = (known.instances ?? []).map((instance) => withStaleness(instance, at));
  const live = instances.filter((instance) => isLive(instance, at));
  const activity = activityOf(known, context.activity);
  const awaitedSince = awaitedSinceOf(known, { isReporting: live.length > 0, activity, hasStarted, at });
  const { lastChecked, grade } = settled;
  const since = silentSinceMs(present({ lastChecked, awaitedSince }));
  const waitLeftMs = since === null ? null : since + staleLimitMs(heartbeatSeconds) - at.getTime();
  const phase = phaseNow({ instances, live, activity }, waitLeftMs);
  const lowest = (scoreOf: (instance: InstanceStatus) => number): number | undefined =>
    live.length === 0 ? known.score : Math.min(...live.map(scoreOf));
  const stop = observedStopOf(known.stop, context.stop, { instances, live, unlisted, at });
  const input: ConditionInput = {
    ...{ phase, instances, live, activity, lastChecked, awaitedSince },
    ...{ compliantGrade, compliantEvidence, organisation: known.organisation, stop },
    recentCriticalIssues: recentCriticalIssues(known.worst, live),
    unlisted: unlisted.length,
    score: lowest(provedScore),
    worstCaseScore: lowest(worstCaseProvedScore),
  };
  return present({
    ...settled,
    ...(live.length > 0 ? { ...aggregatesOf(live, unlisted), ...stateOfAgent(settled, live) } : {}),
    ...{ awaitedSince, phase, instances, stop },
    oldGrade: oldGradeOf({ grade, isReporting: live.length > 0 }),
    instanceCount: instances.length + unlisted.length,
    unlisted: unlisted.length > 0 ? unlisted : undefined,
    unlistedCount: unlisted.length > 0 ? unlisted.length : undefined,
    tokens: lastChecked === undefined ? settled.tokens : usedToday(settled, at).tokens,
    observedGeneration: observedGeneration ?? settled.observedGeneration,
    conditions: conditionsOf(known.conditions ?? [], input, { at, observedGeneration }),
  });
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
  const { instances = [], unlisted = [] } = known;
  const removed = [...instances, ...unlisted].filter((instance) => !exists(instance));
  if (removed.length === 0) return known;
  const rest = {
    ...withEnded(known, removed, at),
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
  const { checks: _checks, summary: _summary, usage: _usage, egress: _egress, ...kept } = status;
  const { name: reportedBy, lastHeartbeat: lastChecked } = worst;
  return { ...kept, ...withoutLists(status), issues: [], issuesTotal: 0, reportedBy, lastChecked };
}

/** Sets the phase of a silent instance to Unknown, because its last report may no longer be true. */
function withStaleness(instance: InstanceStatus, at: Date): InstanceStatus {
  return isLive(instance, at) || instance.phase === 'Unknown' ? instance : { ...instance, phase: 'Unknown' };
}

/** The text of the column GRADE while no instance reports: the grade is of an earlier time. undefined: the grade is current. */
export function oldGradeOf(now: { grade: Grade | undefined; isReporting: boolean }): string | undefined {
  return now.grade === undefined || now.isReporting ? undefined : `${now.grade} (old)`;
}

/** @param waitLeftMs how long the agent without instances may still be silent; null: it is not expected to report yet */
function phaseNow(
  { instances, live, activity }: Pick<ConditionInput, 'instances' | 'live' | 'activity'>,
  waitLeftMs: number | null,
): Phase {
  const worst = worstOf(live);
  if (worst !== undefined) return worst.phase;
  if (waitLeftMs === null || activity !== 'running') return 'Pending';
  // All instances were removed, for example in a rollout. The next instance has the stale time to report before the alarm.
  return instances.length > 0 || waitLeftMs < 0 ? 'Unknown' : 'Pending';
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

function addOutcomes(a: OutcomeCounts, b: OutcomeCounts): OutcomeCounts {
  return Object.fromEntries(OUTCOMES.map((each) => [each, a[each] + b[each]])) as OutcomeCounts;
}
