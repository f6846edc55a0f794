import { evidencePercent } from '../evidence/evidence.ts';
import type { BriefInstance, InstanceStatus, ObservationStatus } from './observation.ts';
import { BEST_FIRST, isLive, worstFirst } from './phase.ts';
import { provedScore, surelyProvedScore } from './proved-score.ts';
import { provedPercent } from './shown.ts';
import { withDeparted } from './tokens.ts';

/** The CRD's bounds: instances that are listed, and those that are only counted. */
export const MAX_INSTANCES = 50;
export const MAX_UNLISTED = 950;

type Badness = (instance: InstanceStatus) => number;

const yes = (holds: boolean): number => (holds ? 1 : 0);

/**
 * Everything that phase, score, violations and conditions are decided by. Of each the worst instance keeps a place, so that
 * fifty instances that are bad in one way cannot push out one that is bad in another.
 */
const CRITERIA: readonly Badness[] = [
  ({ phase }) => BEST_FIRST.indexOf(phase),
  ({ score }) => -score,
  (instance) => -provedScore(instance),
  (instance) => -surelyProvedScore(instance),
  ({ evidence }) => -(evidence === undefined ? 0 : evidencePercent(evidence)),
  ({ evidence }) => -(evidence === undefined ? 0 : provedPercent(evidence)),
  ({ audit }) => -(audit?.proved ?? 0),
  ({ violations }) => violations,
  ({ criticalIssues }) => criticalIssues,
  ({ deniedInWindow }) => deniedInWindow,
  ({ reporterInvalid }) => yes(reporterInvalid === true),
  ({ agentReachable }) => yes(agentReachable === false),
  ({ agentReachable }) => yes(agentReachable === undefined),
  ({ modelStatus }) => yes(modelStatus === 'fail'),
  ({ modelStatus }) => yes(modelStatus !== 'pass'),
  ({ policyState }) => yes(policyState === 'not-loaded'),
  ({ policyState }) => yes(policyState === 'unreachable'),
  ({ policyState }) => yes(policyState === 'none'),
  ({ policyState }) => yes(policyState === undefined),
];

/** The instances to list, ordered by name, and the rest: beyond fifty the worst are listed, silent ones last. */
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
  const extremes = CRITERIA.flatMap((badness) => mostOf(live, badness) ?? []);
  const silent = ordered.filter((instance) => !isLive(instance, at));
  return new Set([...new Set([...extremes, ...live, ...silent])].slice(0, MAX_INSTANCES));
}

/** The first of those with the highest value. */
function mostOf(instances: readonly InstanceStatus[], badness: Badness): InstanceStatus | undefined {
  let [most] = instances;
  for (const each of instances) if (most !== undefined && badness(each) > badness(most)) most = each;
  return most;
}

/** What is kept of an instance that is not listed: enough to count it, its tokens and its repeats. */
export function briefOf(instance: InstanceStatus): BriefInstance {
  const { name, uid, startedAt, seq, lastHeartbeat, intervalSeconds, outcomes } = instance;
  const { tokensToday, costTodayUsd, day } = instance;
  return {
    ...{ name, startedAt, seq, lastHeartbeat, intervalSeconds, tokensToday, costTodayUsd, day },
    ...(uid === undefined ? {} : { uid }),
    ...(outcomes === undefined ? {} : { outcomes }),
  };
}

/** The instance of this name, listed or not. */
export function knownInstance(
  status: ObservationStatus | undefined,
  name: string,
): InstanceStatus | BriefInstance | undefined {
  const isIt = (each: BriefInstance): boolean => each.name === name;
  return status?.instances?.find(isIt) ?? status?.unlisted?.find(isIt);
}

/** How many instances were heard from lately. */
export function liveCount(status: ObservationStatus | undefined, at: Date): number {
  const all: readonly BriefInstance[] = [...(status?.instances ?? []), ...(status?.unlisted ?? [])];
  return all.filter((instance) => isLive(instance, at)).length;
}

/** The status without the unlisted instances that have fallen silent; their tokens of the day stay counted. */
export function withoutSilentUnlisted(status: ObservationStatus, at: Date): ObservationStatus {
  const { unlisted = [], departedToday: _, ...kept } = status;
  const silent = unlisted.filter((instance) => !isLive(instance, at));
  if (silent.length === 0) return status;
  return {
    ...kept,
    ...withDeparted(status, silent, at),
    unlisted: unlisted.filter((instance) => isLive(instance, at)),
  };
}
