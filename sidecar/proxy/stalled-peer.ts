import type { Holder, LoadLimits } from './load-limits.ts';

/** Tracks whether a side of one exchange is stuck: its response or its request body. */
export class StalledPeer implements Holder {
  /** true: the memory of this exchange is already reserved. */
  hasRoom = false;
  readonly shed: () => void;
  readonly forget: () => void;
  readonly #load: LoadLimits;
  #sides = 0;
  #isClosed = false;

  constructor(load: LoadLimits, { shed, forget }: Required<Pick<Holder, 'shed' | 'forget'>>) {
    this.#load = load;
    this.shed = shed;
    this.forget = forget;
  }

  hold(): void {
    this.#sides += 1;
    if (this.#sides === 1 && !this.#isClosed) this.#load.hold(this);
  }

  release(): void {
    this.#sides -= 1;
    if (this.#sides === 0) this.#load.release(this);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#sides > 0) this.#load.release(this);
  }
}
