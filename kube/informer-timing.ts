/** All in milliseconds. */
export interface InformerTiming {
  /** How long the server is asked to keep a watch open; it is spread by a quarter, to whole seconds. */
  watchMs: number;
  /** How long the server may take to open one. */
  openMs: number;
  /** A watch that is not over so long after its time is dead. Nothing else tells it from a quiet one. */
  lateMs: number;
  /** How long ago a watch may have brought something, or come to its end, until what is held no longer counts as fresh. */
  freshMs: number;
  /** First and longest delay after an error; short, because it is also how late the end of an outage is noticed. */
  backoff: { baseMs: number; maxMs: number };
}

export const TIMING: InformerTiming = {
  watchMs: 4_500,
  openMs: 15_000,
  lateMs: 2_000,
  freshMs: 15_000,
  backoff: { baseMs: 500, maxMs: 5_000 },
};
