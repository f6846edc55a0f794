import type { Condition, ConditionType } from './observation.ts';

export type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>;

/** One row of a condition's truth table; the reference page shows the same rows. */
export interface VerdictRow<I> {
  status: Condition['status'];
  reason: string;
  /** In words, as the reference page has it. */
  when: string;
  holds: (input: I) => boolean;
  /** Holds nothing that moves with every heartbeat. */
  message: (input: I) => string;
}

/** A condition: what True means, and its rows, of which the first that holds is the verdict. */
export interface ConditionTable<I> {
  type: ConditionType;
  meaning: string;
  rows: readonly VerdictRow<I>[];
}

/** The last row of a table, where none before it holds. */
export const always = (): boolean => true;

/** The verdict of the first row that holds. */
export function verdictOf<I>({ type, rows }: Pick<ConditionTable<I>, 'type' | 'rows'>, input: I): Verdict {
  const row = rows.find((each) => each.holds(input));
  if (row === undefined) throw new Error(`no row of condition ${type} holds`);
  return { status: row.status, reason: row.reason, message: row.message(input) };
}

/** The condition at `at`; `lastTransitionTime` moves only where the status does. */
export function conditionAt(
  type: ConditionType,
  verdict: Verdict,
  known: readonly Condition[],
  at: Date,
): Condition {
  const before = known.find((condition) => condition.type === type);
  const moved = before?.status !== verdict.status;
  const lastTransitionTime = moved ? `${at.toISOString().slice(0, 19)}Z` : before.lastTransitionTime;
  return { type, ...verdict, lastTransitionTime };
}
