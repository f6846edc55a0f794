import { builtinClock, type PushClock } from '../push/clock.ts';

/** Time as a dependency, so that tests can move it. */
export type Clock = PushClock;
export const systemClock: Clock = builtinClock;

/** Sleeps; false: `signal` aborted meanwhile. */
export function slept(clock: Pick<Clock, 'sleep'>, ms: number, signal: AbortSignal): Promise<boolean> {
  return clock.sleep(ms, signal).then(
    () => true,
    () => false,
  );
}
