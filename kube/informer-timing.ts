/** All in milliseconds. */
export interface InformerTiming {
  /** Requested duration of a watch; varied by ±25 % and rounded up to whole seconds. */
  watchMs: number;
  /** Limit for opening a watch. */
  openMs: number;
  /** A watch that has not ended this long after its duration is dead. A quiet watch differs in nothing else. */
  lateMs: number;
  /** The cache is fresh for this long after a watch delivered an event or ended in time. */
  freshMs: number;
  /** First and longest delay after an error. Short, because the delay also limits how late the end of an outage is detected. */
  backoff: { baseMs: number; maxMs: number };
}

export const TIMING: InformerTiming = {
  watchMs: 4_500,
  openMs: 15_000,
  lateMs: 2_000,
  freshMs: 15_000,
  backoff: { baseMs: 500, maxMs: 5_000 },
};
