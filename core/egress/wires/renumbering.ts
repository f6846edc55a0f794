/** Positions that are remembered. */
const MAX_POSITIONS = 10_000;

/** The positions of a response's parts in the stream for the client: without gaps where parts were removed. */
export class Renumbering {
  readonly #changed = new Map<number, number>();
  #next = 0;
  #hasGap = false;

  /** A part begins. Returns its new position. */
  begin(index: number): number {
    if (!this.#hasGap) {
      this.#next = Math.max(this.#next, index + 1);
      return index;
    }
    const position = this.add();
    if (this.#changed.size < MAX_POSITIONS) this.#changed.set(index, position);
    return position;
  }

  /** A part is removed. */
  drop(): void {
    this.#hasGap = true;
  }

  /** The new position of a part that has begun. */
  of(index: number): number {
    return this.#changed.get(index) ?? index;
  }

  /** The position of a part that is added. */
  add(): number {
    return this.#next++;
  }
}
