import type { UpstreamControl } from './upstream.ts';

/** What is read of a blocked answer, at most: its tokens were used all the same. */
const MAX_BYTES = 1024 * 1024;
/** Milliseconds that its rest may take. */
const MAX_MS = 5_000;

/** The rest of an answer that the client does not get: read for the usage in it, up to its end or one of the limits. */
export class RestOfAnswer {
  /** Resolves when nothing more comes. */
  readonly over: Promise<void>;
  readonly #read: (chunk: Buffer) => void;
  readonly #control: UpstreamControl | null;
  #bytes = 0;
  #end: () => void = () => undefined;

  /** `length`: the answer's Content-Length; undefined: it has none, such as a chunked one. */
  constructor(control: UpstreamControl | null, length: string | undefined, read: (chunk: Buffer) => void) {
    this.#read = read;
    this.#control = control;
    if (length !== undefined && !(Number(length) <= MAX_BYTES)) {
      this.over = Promise.resolve();
      control?.abort();
      return;
    }
    this.over = new Promise((resolve) => (this.#end = resolve));
    const timer = setTimeout(() => this.#cut(), MAX_MS).unref();
    void this.over.then(() => clearTimeout(timer));
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes <= MAX_BYTES) this.#read(chunk);
    else this.#cut();
  }

  end(): void {
    this.#end();
  }

  #cut(): void {
    this.#control?.abort();
    this.#end();
  }
}
