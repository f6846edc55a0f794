import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/**
 * The body of a request as a stream of its own. The client library destroys a body that it has no more use for (an
 * answer that came early); were that the request itself, its connection could no longer be read to the end.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #onBytes: (count: number) => void;
  readonly #onStuck: (isStuck: boolean) => void;
  #isStuck = false;

  /** `onStuck`: the agent takes no more, or it takes more again. */
  constructor(
    request: IncomingMessage,
    onBytes: (count: number) => void,
    onStuck: (isStuck: boolean) => void,
  ) {
    super();
    this.#request = request;
    this.#onBytes = onBytes;
    this.#onStuck = onStuck;
    // Whoever reads this stream hears of its end; when nobody does any more, there is nobody to tell.
    this.on('error', () => undefined);
    request.on('data', this.#take).on('end', this.#finish).on('error', this.#fail).on('close', this.#leave);
    request.pause();
  }

  override _read(): void {
    this.#setStuck(false);
    this.#request.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#request
      .off('data', this.#take)
      .off('end', this.#finish)
      .off('error', this.#fail)
      .off('close', this.#leave);
    this.#setStuck(false);
    callback(error);
  }

  #setStuck(isStuck: boolean): void {
    if (this.#isStuck === isStuck) return;
    this.#isStuck = isStuck;
    this.#onStuck(isStuck);
  }

  readonly #take = (chunk: Buffer): void => {
    this.#onBytes(chunk.length);
    if (this.push(chunk)) return;
    this.#request.pause();
    this.#setStuck(true);
  };

  readonly #finish = (): void => void this.push(null);

  readonly #fail = (error: Error): void => void this.destroy(error);

  /** A client that goes away ends its body early, which must not look like its end. */
  readonly #leave = (): void => {
    if (!this.#request.readableEnded) this.destroy(new Error('the client went away'));
  };
}

/** The body if all of it came with its head; null: it is still to come. */
export function bodyThatCame(request: IncomingMessage): Buffer | null {
  return request.complete ? (request.read() as Buffer | null) : null;
}
