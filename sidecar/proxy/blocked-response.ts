import type { UpstreamRequestHandle } from './upstream.ts';

/** Maximum bytes read from a blocked response. It is read because its tokens were used. */
const MAX_BYTES = 1024 * 1024;
/** Maximum milliseconds for reading the rest of a blocked response. */
const MAX_MS = 5_000;

/** Reads a response that is not sent to the client, for its token usage, up to its end or one of the limits. */
export class BlockedResponse {
  /** Resolves when nothing more is read. */
  readonly over: Promise<void>;
  readonly #read: (chunk: Buffer) => void;
  readonly #control: UpstreamRequestHandle | null;
  #bytes = 0;
  #end: () => void = () => undefined;

  /** `length`: the Content-Length of the response; undefined: none, for example if the response is chunked. */
  constructor(
    control: UpstreamRequestHandle | null,
    length: string | undefined,
    read: (chunk: Buffer) => void,
  ) {
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
