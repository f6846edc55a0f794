import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { Destination } from './destination.ts';

/** Standard output. A reader that stops reading delays the next write, so the process keeps no more than one buffer for it. */
export class StandardOutput implements Destination {
  readonly #stream: Writable;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  async write(bytes: Buffer): Promise<number> {
    if (!this.#stream.writable) throw new Error('standard output is closed');
    // The caller uses the buffer again after the write, and the stream may keep what it gets.
    const isDrained = this.#stream.write(Buffer.from(bytes));
    if (!isDrained) await once(this.#stream, 'drain');
    return bytes.length;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
