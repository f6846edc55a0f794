import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ChunkBrake, ChunkStore, PIECE_BYTES } from '../../runtime/chunk-store.ts';
import type { Stuck } from './stuck.ts';

/** Stored bytes of one body from which on no more is read of its connection. */
const MAX_STORED = 16 * 1024;

/** Is told that the agent takes no more, and that it takes more again. */
type StuckSide = Pick<Stuck, 'hold' | 'release'>;

/** Takes a body over from its inlet. */
interface Reader {
  /** true: it takes another one at once. */
  receive(chunk: Buffer): boolean;
  /** Whether bytes wait that it does not take, so many that no more is read. */
  setStuck(isStuck: boolean): void;
}

/**
 * Receives the body of a request in place of the request's own buffer, which keeps an object for each chunk. Made when the
 * head has come, before the first byte of the body.
 */
export class BodyInlet {
  readonly #request: IncomingMessage;
  readonly #store = new ChunkStore();
  #reader: Reader | null = null;
  /** The reader takes chunks as they come. */
  #isTaken = false;
  /** A small chunk was passed on in this turn of the event loop: those behind it go on together. */
  #isGathering = false;
  #isDropped = false;
  readonly #brake = new ChunkBrake(() => {
    if (this.#isDropped || this.#store.bytes < MAX_STORED) this.#readOn();
  });

  constructor(request: IncomingMessage) {
    this.#request = request;
    const end = request.push.bind(request);
    request.push = (chunk: Buffer | null) => (chunk === null ? end(null) : this.#receive(chunk));
  }

  /** The body if all of it has come; null: it is still to come. */
  whole(): Buffer | null {
    if (!this.#request.complete) return null;
    // Ends it: nothing is in the request itself.
    this.#request.resume();
    return this.#store.take();
  }

  /** Passes on what has come and what comes, as far as the reader takes it. */
  readBy(reader: Reader): void {
    this.#reader = reader;
    this.#hasRoom();
    // For its end: nothing else comes from the request itself.
    this.#request.resume();
  }

  /** The reader takes more. */
  flow(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    if (!this.#isGathering) this.#flush();
  }

  /** Nothing waits for the reader. */
  get isEmpty(): boolean {
    return this.#store.bytes === 0;
  }

  /** The reader has gone: what comes is stored, as far as there is room. */
  leave(): void {
    this.#reader = null;
    this.#isTaken = false;
  }

  /** The exchange is over: what still comes is read and dropped. */
  drop(): void {
    this.leave();
    this.#isDropped = true;
    this.#store.clear();
    this.#readOn();
  }

  /** false: Node.js reads no more of the connection. */
  #receive(chunk: Buffer): boolean {
    const hasRoom = this.#pass(chunk);
    return this.#brake.passes(chunk) && hasRoom;
  }

  /** Passes a chunk on, or stores it; false: there is no room for more. */
  #pass(chunk: Buffer): boolean {
    if (this.#isDropped) return true;
    if (!this.#isTaken || this.#isGathering) {
      this.#store.add(chunk);
      return this.#hasRoom();
    }
    if (chunk.length < PIECE_BYTES) {
      this.#isGathering = true;
      // Not the next tick, which comes between two chunks of one read.
      setImmediate(this.#endGathering);
    }
    this.#isTaken = this.#reader?.receive(chunk) === true;
    return true;
  }

  readonly #endGathering = (): void => {
    this.#isGathering = false;
    if (this.#isTaken) this.#flush();
    else this.#hasRoom();
  };

  #flush(): void {
    if (this.#store.bytes > 0) {
      const wasFull = !this.#hasRoom();
      this.#isTaken = this.#reader?.receive(this.#store.take()) === true;
      if (wasFull) this.#reader?.setStuck(false);
    }
    this.#readOn();
  }

  #hasRoom(): boolean {
    if (this.#store.bytes < MAX_STORED) return true;
    if (!this.#isGathering) this.#reader?.setStuck(true);
    return false;
  }

  #readOn(): void {
    // What a request does when its reader wants more.
    if (!this.#request.complete && !this.#brake.isHeld) this.#request._read(0);
  }
}

/**
 * The body of a request as a stream of its own. The client library destroys a body that it has no more use for (an
 * answer that came early); were that the request itself, its connection could no longer be read to the end.
 */
export class RequestBody extends Readable implements Reader {
  readonly #request: IncomingMessage;
  readonly #inlet: BodyInlet;
  readonly #onBytes: (count: number) => void;
  readonly #stuck: StuckSide;
  #isStuck = false;
  #hasEnded = false;

  constructor(
    { request, inlet }: { request: IncomingMessage; inlet: BodyInlet },
    onBytes: (count: number) => void,
    stuck: StuckSide,
  ) {
    // What waits, waits in the inlet.
    super({ highWaterMark: 1 });
    this.#request = request;
    this.#inlet = inlet;
    this.#onBytes = onBytes;
    this.#stuck = stuck;
    // Whoever reads this stream hears of its end; when nobody does any more, there is nobody to tell.
    this.on('error', () => undefined);
    request.on('end', this.#finish).on('error', this.#fail).on('close', this.#leave);
    inlet.readBy(this);
  }

  override _read(): void {
    this.#inlet.flow();
    this.#endIfOver();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#request.off('end', this.#finish).off('error', this.#fail).off('close', this.#leave);
    this.#inlet.leave();
    this.setStuck(false);
    callback(error);
  }

  receive(chunk: Buffer): boolean {
    this.#onBytes(chunk.length);
    return this.push(chunk) && !this.isPaused();
  }

  setStuck(isStuck: boolean): void {
    if (this.#isStuck === isStuck) return;
    this.#isStuck = isStuck;
    if (isStuck) this.#stuck.hold();
    else this.#stuck.release();
  }

  readonly #finish = (): void => {
    this.#hasEnded = true;
    this.#endIfOver();
  };

  #endIfOver(): void {
    if (this.#hasEnded && this.#inlet.isEmpty) this.push(null);
  }

  readonly #fail = (error: Error): void => void this.destroy(error);

  /** A client that goes away ends its body early, which must not look like its end. */
  readonly #leave = (): void => {
    if (!this.#request.readableEnded) this.destroy(new Error('the client went away'));
  };
}
