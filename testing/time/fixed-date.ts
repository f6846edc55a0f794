import { systemClock, type Clock } from '../../runtime/clock.ts';

/** A clock with a fixed date and real durations and sleeps. */
export function clockAt(date: string): Clock {
  return { ...systemClock, now: () => new Date(date) };
}
