import type { Writable } from 'node:stream';
import type { Destination } from './destination.ts';

/** Standard output. A reader that stops reading delays the next write, so the process keeps no more than one buffer for it. */
export class StandardOutput implements Destination {
  readonly #stream: Writable;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  write(bytes: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#stream.write(bytes, (error) => (error ? reject(error) : resolve(bytes.length)));
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
