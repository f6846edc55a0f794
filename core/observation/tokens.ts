import { dayOf } from '../usage/day-totals.ts';
import { present } from '../untrusted/present.ts';
import type { BriefInstance, DayUse, DepartedInstance, ObservationStatus } from './observation.ts';

const NONE: DayUse = { tokens: 0, costUsd: 0 };

type Users = Pick<ObservationStatus, 'instances' | 'unlisted' | 'departedToday'>;
type Departed = Pick<ObservationStatus, 'departedToday'>;

/** Usage of the whole agent on the UTC day of `at`, including departed instances. */
export function usedToday(status: Users, at: Date): DayUse {
  const uses = [...(status.instances ?? []), ...(status.unlisted ?? [])].map((instance) =>
    useOf(instance, at),
  );
  return sumOf([...uses, departedOn(status, at)]);
}

/** Usage today without this instance, but including departed instances and earlier processes of this instance. */
export function othersToday(status: Users, instance: string, at: Date): DayUse {
  const isOther = (each: BriefInstance): boolean => each.name !== instance;
  const instances = (status.instances ?? []).filter(isOther);
  const unlisted = (status.unlisted ?? []).filter(isOther);
  return usedToday({ ...status, instances, unlisted }, at);
}

/** `departedToday` after instances have departed. Totals of an earlier day are dropped. */
export function withDeparted(
  status: Departed,
  departedInstances: readonly BriefInstance[],
  at: Date,
): Departed {
  const rows = departedInstances
    .map((instance) => ({ instance, use: useOf(instance, at) }))
    .filter(({ use }) => use.tokens > 0 || use.costUsd > 0)
    .map(({ instance: { name, uid, startedAt }, use }) => ({ name, startedAt, ...use, ...present({ uid }) }));
  return departedOf(at, sumOf([departedOn(status, at), ...rows]), [...rowsOn(status, at), ...rows]);
}

/** `departedToday` with additional usage that belongs to no instance. */
export function departed(status: Departed, uses: readonly DayUse[], at: Date): Departed {
  return departedOf(at, sumOf([departedOn(status, at), ...uses]), rowsOn(status, at));
}

type Process = Pick<DepartedInstance, 'name' | 'uid'> & { startedAt: string | null };

function isOf(row: DepartedInstance, { name, uid, startedAt }: Process): boolean {
  const isItsStart = startedAt === null || Date.parse(row.startedAt) === Date.parse(startedAt);
  return row.name === name && row.uid === uid && isItsStart;
}

/**
 * Whether a departed process already counts with a higher total. Totals only grow, so the report with this total is older than
 * the last counted report, for example because another replica delayed it.
 */
export function hasLeftMore(
  status: Departed,
  process: Process,
  { tokens, at }: { tokens: number; at: Date },
): boolean {
  return rowsOn(status, at).some((row) => isOf(row, process) && row.tokens > tokens);
}

/**
 * `departedToday` without the part of a process that counted as departed and reports its total again. The report is a late last
 * heartbeat of a deleted pod, or the pod still exists.
 * @param process `startedAt` is null if the sender does not report it; then all processes with its name and UID match
 */
export function withReturned(status: Departed, process: Process, at: Date): Departed {
  const rows = rowsOn(status, at);
  const isSame = (row: DepartedInstance): boolean => isOf(row, process);
  const back = rows.filter(isSame).map(({ tokens, costUsd }) => ({ tokens: -tokens, costUsd: -costUsd }));
  return departedOf(
    at,
    sumOf([departedOn(status, at), ...back]),
    rows.filter((row) => !isSame(row)),
  );
}

/** Number of departed processes to remember. Heartbeats are at most one minute late, so older processes are not needed. */
const MAX_DEPARTED = 150;

/** Whether another process can be remembered without dropping one. */
export function hasRoomForDeparted(status: Departed, at: Date): boolean {
  return rowsOn(status, at).length < MAX_DEPARTED;
}

function departedOf(at: Date, { tokens, costUsd }: DayUse, rows: readonly DepartedInstance[]): Departed {
  if (rows.length === 0 && tokens === 0 && costUsd === 0) return {};
  const instances = rows.slice(-MAX_DEPARTED);
  // Rounding errors of floating point subtraction can result in a tiny negative cost.
  const use = { tokens: Math.max(0, tokens), costUsd: Math.max(0, costUsd) };
  return { departedToday: { day: dayOf(at), ...use, ...(instances.length > 0 ? { instances } : {}) } };
}

function rowsOn({ departedToday }: Departed, at: Date): DepartedInstance[] {
  return departedToday?.day === dayOf(at) ? (departedToday.instances ?? []) : [];
}

function useOf(instance: BriefInstance, at: Date): DayUse {
  return instance.day === dayOf(at) ? { tokens: instance.tokensToday, costUsd: instance.costTodayUsd } : NONE;
}

function departedOn(status: Departed, at: Date): DayUse {
  const total = status.departedToday;
  return total?.day === dayOf(at) ? { tokens: total.tokens, costUsd: total.costUsd } : NONE;
}

function sumOf(uses: readonly DayUse[]): DayUse {
  return {
    tokens: uses.reduce((sum, use) => sum + use.tokens, 0),
    costUsd: uses.reduce((sum, use) => sum + use.costUsd, 0),
  };
}
