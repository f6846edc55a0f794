import type { UpstreamControl } from './upstream.ts';

/** What is read of a blocked answer, at most: its tokens were used all the same. */
const MAX_BYTES = 1024 * 1024;
/** Milliseconds that its rest may take. */
const MAX_MS = 5_000;

/** The rest of an answer that nobody gets: a short one is read to its end for the usage in it, any other is cut at once. */
export class RestOfAnswer {
  /** Resolves when nothing more comes. */
  readonly over: Promise<void>;
  readonly #read: (chunk: Buffer) => void;
  #end: () => void = () => undefined;

  /** `length`: the answer's Content-Length, if it has one. */
  constructor(control: UpstreamControl | null, length: string | undefined, read: (chunk: Buffer) => void) {
    this.#read = read;
    if (length === undefined || !(Number(length) <= MAX_BYTES)) {
      this.over = Promise.resolve();
      control?.abort();
      return;
    }
    this.over = new Promise((resolve) => (this.#end = resolve));
    const cut = setTimeout(() => {
      control?.abort();
      this.#end();
    }, MAX_MS).unref();
    void this.over.then(() => clearTimeout(cut));
  }

  take(chunk: Buffer): void {
    this.#read(chunk);
  }

  end(): void {
    this.#end();
  }
}
