import type { OutcomeCounts } from '../shapes/outcomes.ts';
import { OUTCOMES } from '../shapes/values.ts';
import { gradeOf } from '../shapes/grade.ts';
import { allInstances } from '../observation/all-instances.ts';
import { FORGET_MS } from '../observation/merge-heartbeat.ts';
import type { BriefInstance } from '../shapes/instance.ts';
import type { DayUse } from '../shapes/ended-process.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { usedToday } from '../observation/tokens.ts';
import type { HistoryPoint } from '../shapes/history.ts';

const NO_OUTCOMES: OutcomeCounts = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 };

/**
 * The point of one heartbeat: the state of the agent after it, and what the agent did since the previous heartbeat. Tokens and
 * cost are the increase of the agent's total of the UTC day, so the points of a day add up to the total that the status shows.
 * Never negative.
 * @param before the status before the heartbeat; undefined: the agent is new
 * @param after the status that `mergeHeartbeat` returned
 */
export function pointOf(
  before: ObservationStatus | undefined,
  after: ObservationStatus,
  at: Date,
): HistoryPoint {
  const { score = 0, phase } = after;
  return {
    at: at.toISOString(),
    heartbeats: 1,
    ...{ score, scoreMin: score, scoreMax: score },
    grade: gradeOf(score),
    phase,
    ...useBetween(before, after, at),
    outcomes: outcomesBetween(before, after, at),
  };
}

/** `usedToday` ignores the totals of an earlier day, so the first heartbeat of a day counts from zero. */
function useBetween(before: ObservationStatus | undefined, after: ObservationStatus, at: Date): DayUse {
  const old: DayUse = before === undefined ? { tokens: 0, costUsd: 0 } : usedToday(before, at);
  const now = usedToday(after, at);
  return {
    tokens: Math.max(0, now.tokens - old.tokens),
    costUsd: Math.max(0, now.costUsd - old.costUsd),
  };
}

/** The increase of the counters of each process. */
function outcomesBetween(
  before: ObservationStatus | undefined,
  after: ObservationStatus,
  at: Date,
): OutcomeCounts {
  const known = new Map(allInstances(before).map((row) => [row.name, row]));
  const sum = { ...NO_OUTCOMES };
  for (const row of allInstances(after)) {
    const { outcomes } = row;
    if (outcomes === undefined) continue;
    const counted = countedOf(known.get(row.name), { ...row, outcomes }, at);
    for (const each of OUTCOMES) sum[each] += outcomes[each] - counted[each];
  }
  return sum;
}

/** The part of the counters that earlier points contain, or that is older than the history. At most the counters themselves. */
function countedOf(
  known: BriefInstance | undefined,
  row: BriefInstance & { outcomes: OutcomeCounts },
  at: Date,
): OutcomeCounts {
  // The counters of a process that runs for longer may be in points from before the process was forgotten.
  if (known === undefined)
    return at.getTime() - Date.parse(row.startedAt) <= FORGET_MS ? NO_OUTCOMES : row.outcomes;
  const { outcomes = NO_OUTCOMES } = known;
  const isSame = known.uid === row.uid && Date.parse(known.startedAt) === Date.parse(row.startedAt);
  // A counter that decreased shows a restart of a sender that does not report its start.
  const isReset = OUTCOMES.some((each) => row.outcomes[each] < outcomes[each]);
  return isSame && !isReset ? outcomes : NO_OUTCOMES;
}
