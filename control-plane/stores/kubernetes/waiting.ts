import { coalescingWindowMs } from '../../../core/observation/write-due.ts';
import type { Arrival } from '../store.ts';

interface Entry {
  arrival: Arrival;
  /** Since when something of it, or of what it replaced, is not stored; monotonic milliseconds. */
  sinceMs: number;
  /** Of the heartbeat's JSON. */
  bytes: number;
  /** Somebody waits until it is stored, and takes it back where it is not. */
  isAwaited: boolean;
}

/** A write may take this long beyond the window before new heartbeats are refused, in milliseconds. */
const LATE_MS = 15_000;
/** So many heartbeats of one object are written although their time has not come, since they are replayed at each read. */
const MANY = 100;

/**
 * Heartbeats of one object that are accepted and not stored, oldest first. Those of one process are cumulative, so that
 * a newer one takes the place of an older one; windows without a total add up, and each is kept.
 */
export class Waiting {
  #entries: Entry[] = [];
  #bytes = 0;

  get arrivals(): Arrival[] {
    return this.#entries.map(({ arrival }) => arrival);
  }

  get length(): number {
    return this.#entries.length;
  }

  /** Of all that wait, in bytes of JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  isMany(): boolean {
    return this.#entries.length >= MANY;
  }

  /**
   * Whether the cluster does not keep up: something waits for longer than a crash may lose, or twice as much waits as
   * is written early.
   */
  isBehind(intervalSeconds: number, nowMs: number): boolean {
    const oldestMs = Math.min(...this.#entries.map(({ sinceMs }) => sinceMs));
    return (
      this.#entries.length >= 2 * MANY || nowMs - oldestMs > coalescingWindowMs(intervalSeconds) + LATE_MS
    );
  }

  has(arrival: Arrival): boolean {
    return this.#entries.some((entry) => entry.arrival === arrival);
  }

  /** `isAwaited`: it may be taken back, so it takes no other's place, and nobody its. */
  add(arrival: Arrival, nowMs: number, isAwaited = false): void {
    const older = isAwaited
      ? undefined
      : this.#entries.find((entry) => !entry.isAwaited && isReplacedBy(entry.arrival, arrival));
    if (older !== undefined) this.remove([older.arrival]);
    const bytes = JSON.stringify(arrival.heartbeat).length;
    this.#entries.push({ arrival, sinceMs: older?.sinceMs ?? nowMs, bytes, isAwaited });
    this.#bytes += bytes;
  }

  /** What was stored, or is given up; what replaced one of these meanwhile stays. */
  remove(arrivals: readonly Arrival[]): void {
    const removed = new Set(arrivals);
    this.#entries = this.#entries.filter((entry) => {
      if (!removed.has(entry.arrival)) return true;
      this.#bytes -= entry.bytes;
      return false;
    });
  }

  /** From now on nothing older than this waits. */
  storedAt(nowMs: number): void {
    for (const entry of this.#entries) entry.sinceMs = Math.max(entry.sinceMs, nowMs);
  }
}

/** Whether the newer heartbeat says all that the older one does: of the same process, with totals, and no proofs of its own. */
function isReplacedBy(older: Arrival, newer: Arrival): boolean {
  const [before, after] = [older.heartbeat, newer.heartbeat];
  return (
    older.instance === newer.instance &&
    older.uid === newer.uid &&
    after.startedAt !== null &&
    before.startedAt === after.startedAt &&
    before.seq !== null &&
    after.seq !== null &&
    before.seq < after.seq &&
    before.totals !== null &&
    after.totals !== null &&
    before.proofRevision === after.proofRevision
  );
}
