import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { Grade } from '../gap/gap.ts';
import { DEFAULT_COMPLIANT_EVIDENCE } from '../evidence/evidence.ts';
import { DEFAULT_COMPLIANT_GRADE, gradeOf } from '../gap/grade.ts';
import { activityOf, awaitedSinceOf, silentSinceMs, type Activity } from './activity.ts';
import { conditionsOf } from './conditions.ts';
import type { BriefInstance, InstanceStatus, ObservationStatus, Phase } from './observation.ts';
import { isLive, staleLimitMs, worstOf } from './phase.ts';
import { provedScore, surelyProvedScore } from './proved-score.ts';
import { shownOfAgent, withoutLists } from './shown.ts';
import { departed, usedToday, withDeparted } from './tokens.ts';
import { withoutSilentUnlisted } from './worst-instances.ts';

/** What a writer knows besides the status itself. */
export interface ObservationContext {
  /** The lowest grade that counts as compliant (`platform.io/compliant-grade`); default B. */
  compliantGrade?: Grade;
  /** The least evidence that counts as compliant, in percent (`platform.io/compliant-evidence`); default 50. */
  compliantEvidence?: number;
  observedGeneration?: number;
  /** Said by who sees the workload; default: as it was said last. */
  activity?: Activity;
  /** The interval that the agent is asked to keep, in seconds; counts only while it has no instance. Default 30. */
  heartbeatSeconds?: number;
}

const PENDING: ObservationStatus = { phase: 'Pending' };

/**
 * The whole status at `at`, whoever writes it: every aggregate is computed from the instances, the rest is kept.
 * Worst phase, lowest score and most violations of the instances that report; tokens of all of them. While nobody
 * reports, score, grade and lists stay what was last known and the phase says that they are old.
 */
export function statusOf(
  known: ObservationStatus | undefined,
  at: Date,
  context: ObservationContext = {},
): ObservationStatus {
  const settled = withoutSilentUnlisted(known ?? PENDING, at);
  const { unlisted = [] } = settled;
  const kept = withoutComputed(settled);
  const instances = (known?.instances ?? []).map((instance) => withStaleness(instance, at));
  const live = instances.filter((instance) => isLive(instance, at));
  const activity = activityOf(known, context.activity);
  const awaitedSince = awaitedSinceOf(known, { isReporting: live.length > 0, activity, at });
  const silence = { ...kept, ...(awaitedSince === undefined ? {} : { awaitedSince }) };
  const phase = phaseNow(silence, { live, activity, at, heartbeatSeconds: context.heartbeatSeconds ?? 30 });
  const aggregates = live.length > 0 ? aggregatesOf(live, unlisted) : {};
  const status: ObservationStatus = {
    ...silence,
    ...aggregates,
    ...shownOfAgent(settled, live),
    ...departed(settled, [], at),
    phase,
    instances,
    instanceCount: instances.length + unlisted.length,
    ...(unlisted.length > 0 ? { unlisted, unlistedCount: unlisted.length } : {}),
  };
  if (status.lastChecked !== undefined) status.tokens = usedToday(status, at).tokens;
  if (context.observedGeneration !== undefined) status.observedGeneration = context.observedGeneration;
  const { lastChecked } = status;
  const compliantGrade = context.compliantGrade ?? DEFAULT_COMPLIANT_GRADE;
  const input = {
    phase,
    score: lowestOf(live, provedScore) ?? status.score,
    sureScore: lowestOf(live, surelyProvedScore) ?? status.score,
    instances,
    live,
    unlisted: unlisted.length,
    activity,
    lastChecked,
    compliantGrade,
    compliantEvidence: context.compliantEvidence ?? DEFAULT_COMPLIANT_EVIDENCE,
  };
  const { observedGeneration } = context;
  status.conditions = conditionsOf(known?.conditions ?? [], input, {
    at,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  });
  return status;
}

type Computed = 'departedToday' | 'awaitedSince' | 'unlisted' | 'unlistedCount' | 'evidence' | 'audit';

/** Without what is computed and may be absent. */
function withoutComputed(status: ObservationStatus): Omit<ObservationStatus, Computed> {
  const { departedToday: _departed, awaitedSince: _awaited, ...rest } = status;
  const { unlisted: _unlisted, unlistedCount: _count, ...others } = rest;
  const { evidence: _evidence, audit: _audit, ...kept } = others;
  return kept;
}

/**
 * The status without the instances that are gone: their totals of the day stay in `departedToday`.
 * @param isThere whether the instance (a pod, by name and uid) still exists
 */
export function withoutGone(
  known: ObservationStatus,
  isThere: (instance: BriefInstance) => boolean,
  at: Date,
): ObservationStatus {
  const { departedToday: _, instances = [], unlisted = [], ...kept } = known;
  const gone = [...instances, ...unlisted].filter((instance) => !isThere(instance));
  if (gone.length === 0) return known;
  const rest = {
    ...kept,
    ...withDeparted(known, gone, at),
    instances: instances.filter(isThere),
    ...(unlisted.length > 0 ? { unlisted: unlisted.filter(isThere) } : {}),
  };
  return gone.some(({ name }) => name === known.reportedBy) ? withoutItsReport(rest, at) : rest;
}

/**
 * The lists showed the report of an instance that is gone. Where all that report have a score of 100 there is nothing to
 * list, and what it said must not stand beside their grade; else they stay until the next worst has sent again.
 */
function withoutItsReport(status: ObservationStatus, at: Date): ObservationStatus {
  const live = (status.instances ?? []).filter((instance) => isLive(instance, at));
  const speaker = worstOf(live);
  if (speaker === undefined || live.some(({ score }) => score < 100)) return status;
  const { checks: _checks, summary: _summary, usage: _usage, ...kept } = status;
  const { name, lastHeartbeat } = speaker;
  const shown = withoutLists(status);
  return { ...kept, ...shown, issues: [], issuesTotal: 0, reportedBy: name, lastChecked: lastHeartbeat };
}

/** What a silent instance last said of itself is no longer known to be so. */
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
  // All instances are gone, as in a rollout: the next one has its time to report before it is an alarm.
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
  return {
    allow: a.allow + b.allow,
    deny: a.deny + b.deny,
    failOpen: a.failOpen + b.failOpen,
    notEvaluated: a.notEvaluated + b.notEvaluated,
  };
}
