import { setNewest } from '../../core/untrusted/set-newest.ts';

/** Remembered lists. */
const MAX_LISTS = 100;
const NONE: readonly string[] = [];

/** Gives equal lists one object: an agent offers the same tools in every call, and the log keeps thousands of calls. */
export class SharedLists {
  readonly #lists = new Map<string, readonly string[]>();
  #last = NONE;

  shared(list: readonly string[]): readonly string[] {
    if (list.length === 0) return NONE;
    const last = this.#last;
    if (list.length === last.length && list.every((name, index) => name === last[index])) return last;
    const key = JSON.stringify(list);
    const known = this.#lists.get(key) ?? [...list];
    setNewest(this.#lists, [key, known], MAX_LISTS);
    this.#last = known;
    return known;
  }
}
