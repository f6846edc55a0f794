import { SEVERITIES } from '../gap/finding.ts';
import type { Issue } from '../gap/gap.ts';
import type { Check, CheckStatus } from '../health/health.ts';
import type { Heartbeat } from '../heartbeat/heartbeat.ts';
import { mergeSentProofs, type ProofSet } from '../proof/proof-set.ts';
import { instanceOf, isOutdated, isSameProcess, modelCheck, type SenderId } from './instance.ts';
import type { BriefInstance, InstanceStatus, ObservationStatus } from './observation.ts';
import { isLive, worstOf } from './phase.ts';
import { proofMembersOf, proofSetOf } from './proofs.ts';
import { shownOfReport } from './shown.ts';
import { statusOf, type ObservationContext } from './status-of.ts';
import { departed, hasLeftMore, hasRoomForDeparted, withDeparted, withReturned } from './tokens.ts';
import {
  briefOf,
  knownInstance,
  MAX_UNLISTED,
  withoutSilentUnlisted,
  worstInstances,
} from './worst-instances.ts';

/** Who sent the heartbeat, and what the writer knows of the agent. */
export interface Sender extends SenderId, ObservationContext {
  /** The proofs after the heartbeat, where another store decides on them; default: merged here. */
  proofs?: ProofSet;
}

/** The CRD's bounds of the lists. */
const MAX_ISSUES = 50;
const MAX_CHECKS = 100;

/** Whether the heartbeat was merged already, or is older than what was: merging it again changes nothing. */
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
 * The status after a heartbeat that arrived at `at`; the very same object when it is a repeat.
 *
 * Aggregates are exact at once, since every instance keeps what they need in its row. The lists (`issues`, `checks`,
 * `usage`, ...) are those of one instance, `reportedBy`: of the worst one, which takes them over with its own
 * heartbeat. When the worst instance heals, its lists show its new report until the next worst has sent again, at most
 * one interval later. Beyond fifty instances the worst are listed: a report that is worse than a listed one takes its place.
 */
export function mergeHeartbeat(
  status: ObservationStatus | undefined,
  heartbeat: Heartbeat,
  sender: Sender,
  at: Date,
): ObservationStatus {
  if (status !== undefined && isRepeat(status, heartbeat, sender, at)) return status;
  const before = withoutSilentUnlisted(status ?? { phase: 'Pending' }, at);
  const known = knownInstance(before, sender.instance);
  const next = {
    ...withoutReturned(before, heartbeat, sender, at),
    ...proofsOf(before, heartbeat, { at, decided: sender.proofs }),
  };
  const instance = instanceOf(known, heartbeat, sender, { at, proofs: next.proofs ?? [] });
  if (known === undefined && (before.unlisted ?? []).length >= MAX_UNLISTED)
    return statusOf(overfull(next, heartbeat, instance, at), at, sender);
  // A process that was replaced leaves what it used today behind.
  const replaced = known !== undefined && !isSameProcess(known, heartbeat, sender) ? [known] : [];
  const { departedToday: _, ...kept } = next;
  const merged: ObservationStatus = {
    ...kept,
    ...withDeparted(next, replaced, at),
    ...withInstance(before, instance, at),
  };
  const shown = speaks(merged, instance, at) ? withReport(merged, heartbeat, instance) : merged;
  return statusOf(shown, at, sender);
}

/** The lists of instances with this one in the place of its last row. */
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

/** A sender of totals brings what it left behind with it again; the windows of another only add to that. */
function withoutReturned(
  status: ObservationStatus,
  heartbeat: Heartbeat,
  sender: SenderId,
  at: Date,
): ObservationStatus {
  if (heartbeat.totals === null || status.departedToday === undefined) return status;
  const { departedToday: _, ...kept } = status;
  return { ...kept, ...withReturned(status, processOf(heartbeat, sender), at) };
}

const processOf = ({ startedAt }: Heartbeat, { instance: name, uid }: SenderId) => ({
  ...{ name, startedAt },
  ...(uid === undefined ? {} : { uid }),
});

/**
 * Beyond the most instances that a status can count, a further one says nothing of phase and score;
 * its total of the day is kept as if it had left, and taken out again when it reports next. Who sends no totals, and who
 * finds no room there, counts by its windows.
 */
function overfull(
  status: ObservationStatus,
  heartbeat: Heartbeat,
  instance: InstanceStatus,
  at: Date,
): ObservationStatus {
  const { departedToday: _, ...kept } = status;
  if (heartbeat.totals !== null && hasRoomForDeparted(status, at))
    return { ...kept, ...withDeparted(status, [instance], at) };
  const use = { tokens: heartbeat.usage?.totalTokens ?? 0, costUsd: 0 };
  return { ...kept, ...departed(status, [use], at) };
}

/** Whether the instance's report is the one to show: it is the worst, or no other live instance is shown. */
function speaks(status: ObservationStatus, instance: InstanceStatus, at: Date): boolean {
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
  const { usage: _usage, policyMode: _mode, manifestHash: _hash, ...others } = status;
  const { evidence: _evidence, audit: _audit, ...kept } = others;
  const { gap, health } = heartbeat;
  return {
    ...kept,
    ...modelOf(status, heartbeat),
    ...(heartbeat.usage === null ? {} : { usage: heartbeat.usage }),
    ...(heartbeat.policyMode === null ? {} : { policyMode: heartbeat.policyMode }),
    ...(heartbeat.manifestHash === null ? {} : { manifestHash: heartbeat.manifestHash }),
    ...shownOfReport(heartbeat),
    source: heartbeat.source,
    issues: worstIssues(gap.issues),
    issuesTotal: gap.issues.length,
    checks: worstChecks(health.checks),
    summary: health.summary,
    reportedBy: instance.name,
    lastChecked: instance.lastHeartbeat,
  };
}

/** Where a heartbeat names no model, the model of the registration stays. */
function modelOf(status: ObservationStatus, heartbeat: Heartbeat): Pick<ObservationStatus, 'model'> {
  const { provider, id } = heartbeat.model ?? status.model ?? {};
  if (provider === undefined || id === undefined) return {};
  const check = modelCheck(heartbeat);
  return {
    model: {
      provider,
      id,
      ...(check === undefined ? {} : { status: check.status }),
      ...(check?.latencyMs === undefined ? {} : { latencyMs: check.latencyMs }),
    },
  };
}

function worstIssues(issues: readonly Issue[]): Issue[] {
  const rank = (issue: Issue): number => SEVERITIES.indexOf(issue.severity);
  return [...issues].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_ISSUES);
}

const WORST_FIRST: readonly CheckStatus[] = ['fail', 'skip', 'pass'];

/** In the sender's order; where there are too many, what failed stays. */
function worstChecks(checks: readonly Check[]): Check[] {
  if (checks.length <= MAX_CHECKS) return [...checks];
  const rank = (check: Check): number => WORST_FIRST.indexOf(check.status);
  return [...checks].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_CHECKS);
}

/** The agent's proofs after the heartbeat; nothing where nothing changes. */
function proofsOf(
  status: ObservationStatus,
  heartbeat: Heartbeat,
  { at, decided }: { at: Date; decided: ProofSet | undefined },
): Pick<ObservationStatus, 'proofs' | 'proofRevision' | 'proofTombstones'> {
  const set = proofSetOf(status);
  const sent = { revision: heartbeat.proofRevision, proofs: heartbeat.proof };
  // A set that is older than this one comes late.
  const isLate = decided !== undefined && decided.revision <= set.revision;
  const after = isLate ? set : (decided ?? mergeSentProofs(set, sent, at));
  return after === set ? {} : proofMembersOf(after);
}
