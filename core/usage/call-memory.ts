import type { ReadCall, ReadUsage } from './usage.ts';

/** Ids that are remembered; with up to 200 characters each, about 2 MB. */
const MAX_IDS = 5000;
/**
 * Shorter ids are not unique: some servers draw them from a thousand. A call with a short id counts in each answer that
 * shows it.
 */
const MIN_UNIQUE_LENGTH = 20;

/**
 * Remembers calls by their ids, so that each counts once although several answers show it: frameworks return the messages of
 * earlier turns, and a response that is made in the background is read until it is complete, and again.
 */
export class CallMemory {
  readonly #counted = new Set<string>();

  /** What of an answer was not counted before; it is remembered. */
  take(usage: ReadUsage, method: string): ReadUsage {
    const calls = usage.calls.filter((call) => this.#isNew(call, method));
    const unknown = usage.unknown.filter((id) => id === null || !this.#counted.has(id));
    return { ...usage, calls, unknown };
  }

  #isNew({ id, isRoot }: ReadCall, method: string): boolean {
    if (!isUnique(id)) return true;
    // What a request has created is new, whatever its id: a test server may always send the same one.
    const isNew = (isRoot && method !== 'GET') || !this.#counted.has(id);
    // Inserted again, so that the oldest is the one not seen for longest.
    this.#counted.delete(id);
    this.#counted.add(id);
    const [oldest] = this.#counted;
    if (this.#counted.size > MAX_IDS && oldest !== undefined) this.#counted.delete(oldest);
    return isNew;
  }
}

function isUnique(id: string | null): id is string {
  return id !== null && id.length >= MIN_UNIQUE_LENGTH;
}

/** What belongs to the calls that were not complete yet when they were answered. */
export class UnreadCalls<T> {
  readonly #byId = new Map<string, T>();

  set(id: string | null, value: T): void {
    if (!isUnique(id)) return;
    this.#byId.set(id, value);
    const [oldest] = this.#byId.keys();
    if (this.#byId.size > MAX_IDS && oldest !== undefined) this.#byId.delete(oldest);
  }

  take(id: string | null): T | undefined {
    if (id === null) return undefined;
    const value = this.#byId.get(id);
    this.#byId.delete(id);
    return value;
  }
}
