import { setNewest } from '../../core/untrusted/set-newest.ts';

/** Remembered calls; about 1 MB with ids of 100 characters. */
const MAX_IDS = 5_000;
/** Longer ids are not remembered. */
const MAX_LENGTH = 200;

/** The tools of earlier calls by the ids of the calls: some protocols repeat only the id next to a result. */
export class CallNames {
  readonly #names = new Map<string, string>();

  add(id: string | null, name: string): void {
    if (id !== null && id.length <= MAX_LENGTH) setNewest(this.#names, [id, name], MAX_IDS);
  }

  of(id: string | null): string | null {
    return id === null ? null : (this.#names.get(id) ?? null);
  }
}
