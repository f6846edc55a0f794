import { setNewest } from '../untrusted/set-newest.ts';
import type { ReadCall, ParsedUsage } from './usage.ts';

/** Maximum number of remembered ids; about 2 MB with 200 characters each. */
const MAX_IDS = 5000;
/**
 * Shorter ids are not unique, because some servers choose from only a thousand ids. A call with a short id counts in every
 * response that contains it.
 */
const MIN_UNIQUE_LENGTH = 20;

/**
 * Remembers calls by id, so that each call counts once even if several responses contain it. Frameworks return the messages
 * of earlier turns, and clients poll a background response until it is complete.
 */
export class CallMemory {
  /** By call id: the `seq` of the entry whose response contained the call without usage. null: the usage was counted. */
  readonly #seqs = new Map<string, number | null>();

  /**
   * Returns the usage that counts for the entry and remembers its calls. `completed`: the `seq` of each entry whose call had
   * no usage before this response.
   */
  record(
    usage: ParsedUsage,
    { method, seq }: { method: string; seq: number },
  ): { usage: ParsedUsage; completed: number[] } {
    // Nothing is remembered then, and everything counts.
    if (!usage.calls.some(({ id }) => isUnique(id)) && !usage.unknown.some(isUnique))
      return { usage, completed: [] };
    const completed: number[] = [];
    const calls = usage.calls.filter(({ id, isRoot }) => {
      if (!isUnique(id)) return true;
      const known = this.#seqs.get(id);
      if (typeof known === 'number') completed.push(known);
      setNewest(this.#seqs, [id, null], MAX_IDS);
      // A call that this request created is new even if the id is known, because a test server may always send the same id.
      return known !== null || (isRoot && method !== 'GET');
    });
    const unknown = usage.unknown.filter((id) => {
      if (!isUnique(id)) return true;
      const known = this.#seqs.get(id);
      // A GET reads a call that was created by, and counted with, another request.
      if (known === null || (known !== undefined && method === 'GET')) return false;
      setNewest(this.#seqs, [id, seq], MAX_IDS);
      return true;
    });
    return { usage: { calls, unknown, reason: usage.reason }, completed };
  }
}

function isUnique(id: ReadCall['id']): id is string {
  return id !== null && id.length >= MIN_UNIQUE_LENGTH;
}
