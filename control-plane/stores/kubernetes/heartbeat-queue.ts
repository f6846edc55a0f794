import { coalescingWindowMs } from '../../../core/observation/write-due.ts';
import type { Arrival } from '../store.ts';

interface Entry {
  arrival: Arrival;
  /** Since when this heartbeat, or a heartbeat that it replaced, is not stored; monotonic milliseconds. */
  sinceMs: number;
  /** Size of the heartbeat's JSON. */
  bytes: number;
  /** A caller waits until the heartbeat is stored, and removes it if the write fails. */
  isAwaited: boolean;
}

/** How long a write may exceed the window before new heartbeats are rejected, in milliseconds. */
const LATE_MS = 15_000;
/** From this number on, the heartbeats of one object are written early, because every read replays them. */
const MANY = 100;

/**
 * Accepted heartbeats of one object that are not stored yet, oldest first. Heartbeats of one process are cumulative, so a newer
 * heartbeat replaces an older one. Heartbeats with a usage window and no totals add up, so all of them are kept.
 */
export class HeartbeatQueue {
  #entries: Entry[] = [];
  #bytes = 0;

  get arrivals(): Arrival[] {
    return this.#entries.map(({ arrival }) => arrival);
  }

  get length(): number {
    return this.#entries.length;
  }

  /** Size of all queued heartbeats, in bytes of JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  isMany(): boolean {
    return this.#entries.length >= MANY;
  }

  /**
   * Whether the API server does not keep up: a heartbeat waits longer than a crash may lose, or the queue is twice as long as
   * the limit for early writes.
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

  /** `isAwaited`: the heartbeat may be removed again, so it neither replaces another heartbeat nor is replaced. */
  add(arrival: Arrival, nowMs: number, isAwaited = false): void {
    const older = isAwaited
      ? undefined
      : this.#entries.find((entry) => !entry.isAwaited && isReplacedBy(entry.arrival, arrival));
    if (older !== undefined) this.remove([older.arrival]);
    const bytes = JSON.stringify(arrival.heartbeat).length;
    this.#entries.push({ arrival, sinceMs: older?.sinceMs ?? nowMs, bytes, isAwaited });
    this.#bytes += bytes;
  }

  /** Removes stored or discarded heartbeats. A heartbeat that has replaced one of them stays. */
  remove(arrivals: readonly Arrival[]): void {
    const removed = new Set(arrivals);
    this.#entries = this.#entries.filter((entry) => {
      if (!removed.has(entry.arrival)) return true;
      this.#bytes -= entry.bytes;
      return false;
    });
  }

  /** Records a successful write: all remaining heartbeats wait since this time or later. */
  storedAt(nowMs: number): void {
    for (const entry of this.#entries) entry.sinceMs = Math.max(entry.sinceMs, nowMs);
  }
}

/** Whether the newer heartbeat contains all data of the older one: same process, with totals, same proof revision. */
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
