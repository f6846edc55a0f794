import type { AuditEntry } from '../behavior/audit-entry.ts';
import { setNewest } from '../untrusted/set-newest.ts';
import type { ReadCall, ReadUsage } from './usage.ts';

/** Ids that are remembered; with up to 200 characters each, about 2 MB. */
const MAX_IDS = 5000;
/**
 * Shorter ids are not unique: some servers draw them from a thousand. A call with a short id counts in each response that
 * shows it.
 */
const MIN_UNIQUE_LENGTH = 20;

/**
 * Remembers calls by their ids, so that each counts once although several responses show it: frameworks return the messages
 * of earlier turns, and a response that is made in the background is read until it is complete, and again.
 */
export class CallMemory {
  /** By id the `seq` of the entry whose response showed the call without its usage; null: its usage was counted. */
  readonly #seqs = new Map<string, number | null>();

  /**
   * What of a response counts for its entry; it is remembered. `completed`: the `seq` of each entry whose call had no usage
   * before this response.
   */
  take(
    usage: ReadUsage,
    { method, seq }: Pick<AuditEntry, 'method' | 'seq'>,
  ): { usage: ReadUsage; completed: number[] } {
    const completed: number[] = [];
    const calls = usage.calls.filter(({ id, isRoot }) => {
      if (!isUnique(id)) return true;
      const known = this.#seqs.get(id);
      if (typeof known === 'number') completed.push(known);
      setNewest(this.#seqs, [id, null], MAX_IDS);
      // What a request has created is new, whatever its id: a test server may always send the same one.
      return known !== null || (isRoot && method !== 'GET');
    });
    const unknown = usage.unknown.filter((id) => {
      if (!isUnique(id)) return true;
      const known = this.#seqs.get(id);
      // A GET reads what another request has created and was counted with.
      if (known === null || (known !== undefined && method === 'GET')) return false;
      setNewest(this.#seqs, [id, seq], MAX_IDS);
      return true;
    });
    return { usage: { ...usage, calls, unknown }, completed };
  }
}

function isUnique(id: ReadCall['id']): id is string {
  return id !== null && id.length >= MIN_UNIQUE_LENGTH;
}
