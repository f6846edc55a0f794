import { dayOf } from '../usage/day-totals.ts';
import type { InstanceStatus, ObservationStatus } from './observation.ts';

/** Tokens and cost of one UTC day. */
export interface DayUse {
  tokens: number;
  costUsd: number;
}

const NONE: DayUse = { tokens: 0, costUsd: 0 };

/** What the whole agent used on the UTC day of `at`: its instances, and those that are gone. */
export function usedToday(status: Pick<ObservationStatus, 'instances' | 'departedToday'>, at: Date): DayUse {
  const uses = (status.instances ?? []).map((instance) => useOf(instance, at));
  return sumOf([...uses, departedOn(status, at)]);
}

/** What everybody but this instance used today, gone instances and earlier processes of its own included. */
export function othersToday(
  status: Pick<ObservationStatus, 'instances' | 'departedToday'>,
  instance: string,
  at: Date,
): DayUse {
  const others = (status.instances ?? []).filter((each) => each.name !== instance);
  return usedToday({ ...status, instances: others }, at);
}

/** `departedToday` after instances have left; a total of an earlier day does not count any more. */
export function withDeparted(
  status: Pick<ObservationStatus, 'departedToday'>,
  gone: readonly InstanceStatus[],
  at: Date,
): Pick<ObservationStatus, 'departedToday'> {
  return departed(
    status,
    gone.map((instance) => useOf(instance, at)),
    at,
  );
}

/** `departedToday` with use that belongs to no listed instance. */
export function departed(
  status: Pick<ObservationStatus, 'departedToday'>,
  uses: readonly DayUse[],
  at: Date,
): Pick<ObservationStatus, 'departedToday'> {
  const { tokens, costUsd } = sumOf([departedOn(status, at), ...uses]);
  return tokens === 0 && costUsd === 0 ? {} : { departedToday: { day: dayOf(at), tokens, costUsd } };
}

function useOf(instance: InstanceStatus, at: Date): DayUse {
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
