import type { Condition, ConditionType } from '../shapes/condition.ts';

/** What a condition says. */
export type ConditionState = Pick<Condition, 'status' | 'reason' | 'message'>;

/** One row of the truth table of a condition. The reference page is generated from these rows. */
export interface TableRow<I> extends Omit<ConditionState, 'message'> {
  /** Description for the reference page. */
  when: string;
  holds: (input: I) => boolean;
  /** Must not contain values that change with every heartbeat. */
  message: (input: I) => string;
}

/** A condition: the meaning of True, and its rows. The first row that holds is the state. */
export interface ConditionTable<I> {
  type: ConditionType;
  meaning: string;
  rows: readonly TableRow<I>[];
}

/** For the last row of a table. */
export const always = (): boolean => true;

/** A row of a table. Without `holds`, it is the last one. */
export const row = <I>(
  status: ConditionState['status'],
  reason: string,
  { holds = always, ...texts }: Pick<TableRow<I>, 'when' | 'message'> & Partial<Pick<TableRow<I>, 'holds'>>,
): TableRow<I> => ({ status, reason, holds, ...texts });

/** The state of the first row that holds. Throws if no row holds. */
export function stateOf<I>({ type, rows }: Omit<ConditionTable<I>, 'meaning'>, input: I): ConditionState {
  const row = rows.find((each) => each.holds(input));
  if (row === undefined) throw new Error(`no row of condition ${type} holds`);
  return { status: row.status, reason: row.reason, message: row.message(input) };
}

/** The condition at `at`. `lastTransitionTime` changes only with the status. */
export function conditionAt(
  type: ConditionType,
  state: ConditionState,
  known: readonly Condition[],
  at: Date,
): Condition {
  const before = known.find((condition) => condition.type === type);
  const moved = before?.status !== state.status;
  const lastTransitionTime = moved ? `${at.toISOString().slice(0, 19)}Z` : before.lastTransitionTime;
  return { type, ...state, lastTransitionTime };
}
