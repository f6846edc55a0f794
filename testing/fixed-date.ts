import { systemClock, type Clock } from '../runtime/clock.ts';

/** A clock whose date stands still, while durations and sleeps are those of the machine. */
export function clockAt(date: string): Clock {
  return { ...systemClock, now: () => new Date(date) };
}
