import { POINTS } from '../gap/finding.ts';
import { present } from '../untrusted/present.ts';
import type { BriefInstance, InstanceStatus } from '../shapes/instance.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { allInstances } from './all-instances.ts';
import { BEST_FIRST, isLive, shownPercent, worstFirst } from './phase.ts';
import { least, provedPercent } from './reported-state.ts';
import { withEnded } from './tokens.ts';

/** Limits of the CRD: instances that are listed, and instances that are only counted. */
export const MAX_INSTANCES = 50;
export const MAX_UNLISTED = 950;

type Scored = Pick<InstanceStatus, 'score' | 'scoreWithoutLocalProofs' | 'localProofsUnknown'>;

/** The score of an instance without local proofs, as far as the instance reports them. */
export function provedScore({ score, scoreWithoutLocalProofs = score }: Scored): number {
  return Math.min(score, scoreWithoutLocalProofs);
}

/**
 * Like `provedScore`, but assumes one local proof if the sidecar does not report whether local proofs count. Such a proof hides
 * one issue of severity low.
 */
export function worstCaseProvedScore(instance: Scored): number {
  const hidden = instance.localProofsUnknown === true ? POINTS.low : 0;
  return Math.max(0, provedScore(instance) - hidden);
}

type Badness = (instance: InstanceStatus) => number;

const asNumber = (holds: boolean): number => (holds ? 1 : 0);

/**
 * All inputs of phase, score, violations and conditions. The worst instance of each criterion is always listed, so that fifty
 * instances that are bad by one criterion cannot displace an instance that is bad by another criterion.
 */
const CRITERIA: readonly Badness[] = [
  ({ phase }) => BEST_FIRST.indexOf(phase),
  ({ score }) => -score,
  (instance) => -provedScore(instance),
  (instance) => -worstCaseProvedScore(instance),
  (instance) => -shownPercent(instance),
  ({ evidence }) => -(evidence === undefined ? 0 : provedPercent(evidence)),
  ({ audit }) => -(audit?.proved ?? 0),
  ({ violations }) => violations,
  ({ criticalIssues }) => criticalIssues,
  ({ deniedInWindow }) => deniedInWindow,
  ({ nothingDeclared }) => asNumber(nothingDeclared === true),
  ({ reporterInvalid }) => asNumber(reporterInvalid === true),
  ({ agentReachable }) => asNumber(agentReachable === false),
  ({ agentReachable }) => asNumber(agentReachable === undefined),
  ({ modelStatus }) => asNumber(modelStatus === 'fail'),
  ({ modelStatus }) => asNumber(modelStatus !== 'pass'),
  ({ policyState }) => asNumber(policyState === 'not-loaded'),
  ({ policyState }) => asNumber(policyState === 'unreachable'),
  ({ policyState }) => asNumber(policyState === 'none'),
  ({ policyState }) => asNumber(policyState === undefined),
];

/** Selects the instances to list, sorted by name, and the rest. Of more than fifty, the worst are listed, silent ones last. */
export function worstInstances(
  instances: readonly InstanceStatus[],
  at: Date,
): { listed: InstanceStatus[]; rest: InstanceStatus[] } {
  const chosen = instances.length <= MAX_INSTANCES ? new Set(instances) : worstFifty(instances, at);
  const byName = [...instances].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    listed: byName.filter((instance) => chosen.has(instance)),
    rest: byName.filter((instance) => !chosen.has(instance)),
  };
}

function worstFifty(instances: readonly InstanceStatus[], at: Date): Set<InstanceStatus> {
  const ordered = worstFirst(instances);
  const live = ordered.filter((instance) => isLive(instance, at));
  const extremes = CRITERIA.flatMap((badness) => least(live, (each) => -badness(each)) ?? []);
  const silent = ordered.filter((instance) => !isLive(instance, at));
  return new Set([...new Set([...extremes, ...live, ...silent])].slice(0, MAX_INSTANCES));
}

/** The members kept of an unlisted instance: enough to count the instance and its tokens and to detect repeats. */
export function briefOf(instance: InstanceStatus): BriefInstance {
  const { name, uid, startedAt, seq, lastHeartbeat, intervalSeconds, outcomes, stop } = instance;
  const { tokensToday, costTodayUsd, day } = instance;
  const counters = { lastHeartbeat, intervalSeconds, tokensToday, costTodayUsd, day };
  return { name, startedAt, seq, ...counters, ...present({ uid, outcomes, stop }) };
}

/** The instance of this name, listed or not. */
export function knownInstance(
  status: ObservationStatus | undefined,
  name: string,
): BriefInstance | undefined {
  return allInstances(status).find((each) => each.name === name);
}

/** Number of instances with a recent heartbeat. */
export function liveCount(status: ObservationStatus | undefined, at: Date): number {
  return allInstances(status).filter((instance) => isLive(instance, at)).length;
}

/** Removes the unlisted instances that became silent. Their tokens of the day stay counted. */
export function withoutSilentUnlisted(status: ObservationStatus, at: Date): ObservationStatus {
  const { unlisted = [] } = status;
  const live = unlisted.filter((instance) => isLive(instance, at));
  if (live.length === unlisted.length) return status;
  const silent = unlisted.filter((instance) => !live.includes(instance));
  return { ...withEnded(status, silent, at), unlisted: live };
}
