import { dayOf } from '../usage/day-totals.ts';
import type { BriefInstance, DepartedInstance, ObservationStatus } from './observation.ts';

/** Tokens and cost of one UTC day. */
export interface DayUse {
  tokens: number;
  costUsd: number;
}

const NONE: DayUse = { tokens: 0, costUsd: 0 };

type Users = Pick<ObservationStatus, 'instances' | 'unlisted' | 'departedToday'>;

/** What the whole agent used on the UTC day of `at`: its instances, and those that are gone. */
export function usedToday(status: Users, at: Date): DayUse {
  const uses = [...(status.instances ?? []), ...(status.unlisted ?? [])].map((instance) =>
    useOf(instance, at),
  );
  return sumOf([...uses, departedOn(status, at)]);
}

/** What everybody but this instance used today, gone instances and earlier processes of its own included. */
export function othersToday(status: Users, instance: string, at: Date): DayUse {
  const isOther = (each: BriefInstance): boolean => each.name !== instance;
  const instances = (status.instances ?? []).filter(isOther);
  const unlisted = (status.unlisted ?? []).filter(isOther);
  return usedToday({ ...status, instances, unlisted }, at);
}

/** `departedToday` after instances have left; a total of an earlier day does not count any more. */
export function withDeparted(
  status: Pick<ObservationStatus, 'departedToday'>,
  gone: readonly BriefInstance[],
  at: Date,
): Pick<ObservationStatus, 'departedToday'> {
  const rows = gone
    .map((instance) => ({ instance, use: useOf(instance, at) }))
    .filter(({ use }) => use.tokens > 0 || use.costUsd > 0)
    .map(({ instance: { name, uid, startedAt }, use }) => ({
      ...{ name, startedAt, ...use },
      ...(uid === undefined ? {} : { uid }),
    }));
  return departedOf(at, sumOf([departedOn(status, at), ...rows]), [...rowsOn(status, at), ...rows]);
}

/** `departedToday` with use that belongs to no listed instance. */
export function departed(
  status: Pick<ObservationStatus, 'departedToday'>,
  uses: readonly DayUse[],
  at: Date,
): Pick<ObservationStatus, 'departedToday'> {
  return departedOf(at, sumOf([departedOn(status, at), ...uses]), rowsOn(status, at));
}

type Process = Pick<DepartedInstance, 'name' | 'uid'> & { startedAt: string | null };

function isOf(row: DepartedInstance, { name, uid, startedAt }: Process): boolean {
  const isItsStart = startedAt === null || Date.parse(row.startedAt) === Date.parse(startedAt);
  return row.name === name && row.uid === uid && isItsStart;
}

/**
 * Whether a process that is taken for gone left more than this total: totals only grow, so that the report was made before
 * the last one that was counted, and another replica held it back.
 */
export function hasLeftMore(
  status: Pick<ObservationStatus, 'departedToday'>,
  process: Process,
  { tokens, at }: { tokens: number; at: Date },
): boolean {
  return rowsOn(status, at).some((row) => isOf(row, process) && row.tokens > tokens);
}

/**
 * `departedToday` without the part of a process that was taken for gone and reports its total again: a last heartbeat
 * that comes after its pod has left, or a pod that was not gone at all.
 * @param process with `startedAt` null where its sender does not say; then any of its name and uid is meant
 */
export function withReturned(
  status: Pick<ObservationStatus, 'departedToday'>,
  process: Process,
  at: Date,
): Pick<ObservationStatus, 'departedToday'> {
  const rows = rowsOn(status, at);
  const isSame = (row: DepartedInstance): boolean => isOf(row, process);
  const back = rows.filter(isSame).map(({ tokens, costUsd }) => ({ tokens: -tokens, costUsd: -costUsd }));
  return departedOf(
    at,
    sumOf([departedOn(status, at), ...back]),
    rows.filter((row) => !isSame(row)),
  );
}

/** A heartbeat is late by a minute at most; the parts of processes that left before these cannot be taken out again. */
const MAX_DEPARTED = 150;

/** Whether one more process can be remembered without another being forgotten. */
export function hasRoomForDeparted(status: Pick<ObservationStatus, 'departedToday'>, at: Date): boolean {
  return rowsOn(status, at).length < MAX_DEPARTED;
}

function departedOf(
  at: Date,
  { tokens, costUsd }: DayUse,
  rows: readonly DepartedInstance[],
): Pick<ObservationStatus, 'departedToday'> {
  if (rows.length === 0 && tokens === 0 && costUsd === 0) return {};
  const instances = rows.slice(-MAX_DEPARTED);
  // Differences of prices in binary fractions can fall below nothing by an atom.
  const use = { tokens: Math.max(0, tokens), costUsd: Math.max(0, costUsd) };
  return { departedToday: { day: dayOf(at), ...use, ...(instances.length > 0 ? { instances } : {}) } };
}

function rowsOn({ departedToday }: Pick<ObservationStatus, 'departedToday'>, at: Date): DepartedInstance[] {
  return departedToday?.day === dayOf(at) ? (departedToday.instances ?? []) : [];
}

function useOf(instance: BriefInstance, at: Date): DayUse {
  return instance.day === dayOf(at) ? { tokens: instance.tokensToday, costUsd: instance.costTodayUsd } : NONE;
}

function departedOn(status: Pick<ObservationStatus, 'departedToday'>, at: Date): DayUse {
  const gone = status.departedToday;
  return gone?.day === dayOf(at) ? { tokens: gone.tokens, costUsd: gone.costUsd } : NONE;
}

function sumOf(uses: readonly DayUse[]): DayUse {
  return {
    tokens: uses.reduce((sum, use) => sum + use.tokens, 0),
    costUsd: uses.reduce((sum, use) => sum + use.costUsd, 0),
  };
}
