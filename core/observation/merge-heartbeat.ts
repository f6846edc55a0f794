import { WORST_FIRST } from '../facts/check.ts';
import type { Check } from '../shapes/health.ts';
import { SEVERITIES } from '../shapes/values.ts';
import { isVerified } from '../gap/gap.ts';
import type { Issue } from '../shapes/gap.ts';
import { observedSummaryOf } from '../egress/report.ts';
import { withProvableScore } from '../audit/provable.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import type { ProofWrites } from '../evidence/proof.ts';
import type { ProofSet } from '../evidence/proof-set.ts';
import { instanceOf, isOutdated, isSameProcess, modelCheck, type SenderId } from './instance.ts';
import { present } from '../untrusted/present.ts';
import type { BriefInstance, InstanceStatus } from '../shapes/instance.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import type { OrganisationStatus } from '../shapes/organisation.ts';
import { manifestChangeOf, type CompareManifests } from './manifest-change.ts';
import { isLive, staleLimitMs, worstOf } from './phase.ts';
import { staleRules, withReportedStale, withSentProofs, withStale } from './proofs.ts';
import { stateOfReport } from './reported-state.ts';
import { statusOf, withoutGone, type ObservationContext } from './status-of.ts';
import { hasLeftMore, hasRoomForEnded, withEnded, withReturned, withUse } from './tokens.ts';
import { worstReports } from './worst-reports.ts';
import {
  briefOf,
  knownInstance,
  MAX_INSTANCES,
  MAX_UNLISTED,
  withoutSilentUnlisted,
  worstInstances,
} from './worst-instances.ts';

/** Sender of the heartbeat, and settings of the agent. */
export interface Sender extends SenderId, ObservationContext {
  /** The proofs after the heartbeat if another store decides them; default: merged here. */
  proofs?: ProofSet;
  /** `control-plane`: a proved score counts only as far as stored proofs of the control plane explain it. Default: local. */
  proofWrites?: ProofWrites;
  /** Compares two manifests. Default: what changed is not known. */
  compare?: CompareManifests;
  /** Compares the agent with the rules of the organisation. Default: the result stays as it is. */
  judge?: (status: ObservationStatus) => OrganisationStatus | undefined;
}

/** List limits of the CRD. */
const MAX_ISSUES = 50;
const MAX_CHECKS = 100;

/** Whether the heartbeat, or a newer one, was already merged. Merging a repeat changes nothing. */
export function isRepeat(
  status: ObservationStatus | undefined,
  heartbeat: Heartbeat,
  sender: SenderId,
  at: Date,
): boolean {
  const known = knownInstance(status, sender.instance);
  if (known !== undefined || status === undefined) return isOutdated(known, heartbeat, sender, at);
  const { startedAt, totals } = heartbeat;
  if (startedAt === null || totals === null) return false;
  return hasLeftMore(status, processOf(heartbeat, sender), { tokens: totals.tokensToday, at });
}

/**
 * The status after a heartbeat that arrived at `at`. Returns the same object for a repeat.
 *
 * Aggregates are exact at once, because the row of each instance contains all their inputs. The lists (`issues`, `checks`,
 * `usage`, ...) are those of one instance, `reportedBy`, which is the worst instance. An instance writes the lists with its own
 * heartbeat. When the worst instance recovers, the lists show its new report until the next worst instance reports, at most one
 * interval later. At most fifty instances are listed; a worse instance replaces a listed one.
 */
export function mergeHeartbeat(
  status: ObservationStatus | undefined,
  sent: Heartbeat,
  sender: Sender,
  at: Date,
): ObservationStatus {
  if (status !== undefined && isRepeat(status, sent, sender, at)) return status;
  const before = withoutSilentUnlisted(
    withoutForgotten(status ?? { phase: 'Pending' }, sender.instance, at),
    at,
  );
  const known = knownInstance(before, sender.instance);
  // If a process that was counted as ended reports again, subtract its part of `departedToday`. Usage windows only add to it.
  const counted = sent.totals === null ? before : withReturned(before, processOf(sent, sender), at);
  const next = withSentProofs(counted, sent, { at, decided: sender.proofs });
  const isLimited = sender.proofWrites === 'control-plane';
  const proofs = withStale(next.proofs ?? [], staleRules(sent.proof));
  const audit = sent.audit && isLimited ? withProvableScore(sent.audit, proofs, at) : sent.audit;
  const heartbeat = { ...sent, audit };
  const instance = instanceOf(known, heartbeat, sender, { at, proofs });
  if (known === undefined && (before.unlisted ?? []).length >= MAX_UNLISTED)
    return statusOf(withUncounted(next, heartbeat, instance, at), at, sender);
  // The usage of a replaced process stays in the totals of the day.
  const replaced = known !== undefined && !isSameProcess(known, heartbeat, sender) ? [known] : [];
  const merged = present({
    ...withEnded(next, replaced, at),
    ...withInstance(before, instance, at),
    worst: worstReports(before.worst, heartbeat, at),
    manifestChange: manifestChangeOf(before, heartbeat, {
      instance: sender.instance,
      compare: sender.compare,
      at,
    }),
  });
  const current = withReportedStale(merged, at);
  const shown = isReportToShow(current, instance, at) ? withReport(current, heartbeat, instance) : current;
  const computed = statusOf(shown, at, sender);
  const organisation = sender.judge === undefined ? shown.organisation : sender.judge(computed);
  // The conditions depend on the result, which depends on the grade.
  return organisation === computed.organisation
    ? computed
    : statusOf(present({ ...shown, organisation }), at, sender);
}

/** Silent instances are dropped after this time, or after twice their stale limit if that is longer; milliseconds. */
export const FORGET_MS = 3_600_000;

/**
 * Remote instances have no pod whose deletion the operator could detect. The next heartbeat drops those that are silent for
 * too long. Their tokens of the day stay counted.
 */
function withoutForgotten(status: ObservationStatus, sender: string, at: Date): ObservationStatus {
  // In a full list a new instance replaces silent instances.
  const isFull = (status.instances ?? []).length >= MAX_INSTANCES;
  const stays = (each: BriefInstance): boolean => {
    if (each.name === sender || isLive(each, at)) return true;
    const silentMs = at.getTime() - Date.parse(each.lastHeartbeat);
    return !isFull && silentMs <= Math.max(FORGET_MS, 2 * staleLimitMs(each.intervalSeconds));
  };
  return withoutGone(status, stays, at);
}

/** The lists of instances, with the new row of this instance. */
function withInstance(
  before: ObservationStatus,
  instance: InstanceStatus,
  at: Date,
): Required<Pick<ObservationStatus, 'instances' | 'unlisted'>> {
  const isOther = ({ name }: BriefInstance): boolean => name !== instance.name;
  const others = (before.instances ?? []).filter(isOther);
  const { listed, rest } = worstInstances([...others, instance], at);
  const unlisted = [...(before.unlisted ?? []).filter(isOther), ...rest.map(briefOf)];
  return { instances: listed, unlisted: unlisted.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

const processOf = ({ startedAt }: Heartbeat, { instance: name, uid }: SenderId) => ({
  ...{ name, startedAt },
  ...present({ uid }),
});

/**
 * Above the maximum number of instances in a status, a further instance does not affect phase and score. Its total of the day is
 * kept in `departedToday` and removed again with its next report. If it sends no totals, or there is no room in `departedToday`,
 * its usage windows are added instead.
 */
function withUncounted(
  status: ObservationStatus,
  heartbeat: Heartbeat,
  instance: InstanceStatus,
  at: Date,
): ObservationStatus {
  if (heartbeat.totals !== null && hasRoomForEnded(status, at)) return withEnded(status, [instance], at);
  return withUse(status, [{ tokens: heartbeat.usage?.totalTokens ?? 0, costUsd: 0 }], at);
}

/** Whether the lists show the report of this instance: it is the worst one, or the lists show no other live instance. */
function isReportToShow(status: ObservationStatus, instance: InstanceStatus, at: Date): boolean {
  if (!status.instances?.includes(instance)) return false;
  const live = (status.instances ?? []).filter((each) => isLive(each, at));
  if (worstOf(live)?.name === instance.name || status.reportedBy === instance.name) return true;
  return !live.some((each) => each.name === status.reportedBy);
}

function withReport(
  status: ObservationStatus,
  heartbeat: Heartbeat,
  instance: InstanceStatus,
): ObservationStatus {
  const { gap, health, source, usage, egress, policyMode, manifestHash } = heartbeat;
  return present({
    ...status,
    ...modelOf(status, heartbeat),
    ...stateOfReport(heartbeat),
    ...{ source, usage, policyMode, manifestHash },
    egress: observedSummaryOf(egress),
    issues: worstIssues(gap.issues),
    issuesTotal: gap.issues.length,
    checks: worstChecks(health.checks),
    summary: health.summary,
    reportedBy: instance.name,
    lastChecked: instance.lastHeartbeat,
  });
}

/** The model of the heartbeat, or of the registration if the heartbeat contains no model. */
function modelOf(status: ObservationStatus, heartbeat: Heartbeat): Pick<ObservationStatus, 'model'> {
  const { provider, id } = heartbeat.model ?? status.model ?? {};
  if (provider === undefined || id === undefined) return {};
  const { status: state, latencyMs } = modelCheck(heartbeat) ?? {};
  return { model: { provider, id, ...present({ status: state, latencyMs }) } };
}

/** Issues of the LLM analysis come last, so that they never take the place of another issue. */
function worstIssues(issues: readonly Issue[]): Issue[] {
  const rank = (issue: Issue): number =>
    SEVERITIES.indexOf(issue.severity) + (isVerified(issue) ? 0 : SEVERITIES.length);
  return [...issues].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_ISSUES);
}

/** The checks in the order of the sender. If there are too many, failed checks are kept first. */
function worstChecks(checks: readonly Check[]): Check[] {
  if (checks.length <= MAX_CHECKS) return [...checks];
  const rank = (check: Check): number => WORST_FIRST.indexOf(check.status);
  return [...checks].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_CHECKS);
}
