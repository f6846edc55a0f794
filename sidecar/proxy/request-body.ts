import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ChunkBrake, ChunkStore, PIECE_BYTES } from '../../runtime/chunk-store.ts';
import type { StalledPeer } from './stalled-peer.ts';

/** Stored bytes of one body. At this number, reading of its connection stops. */
const MAX_STORED = 16 * 1024;

/** Is notified when the agent stops reading and when it reads again. */
type StalledSide = Pick<StalledPeer, 'hold' | 'release'>;

/** Receives a body from its inlet. */
interface Reader {
  /** Returns true if the reader accepts another chunk immediately. */
  receive(chunk: Buffer): boolean;
  /** true: so many bytes wait for the reader that reading of the connection stops. */
  setStuck(isStuck: boolean): void;
}

/**
 * Receives the body of a request instead of the request's own buffer, which keeps an object for each chunk. Create it when the
 * head is complete, before the first byte of the body.
 */
export class BodyInlet {
  readonly #request: IncomingMessage;
  readonly #store = new ChunkStore();
  #reader: Reader | null = null;
  /** true: the reader accepts chunks as they arrive. */
  #isTaken = false;
  /** true: a small chunk was passed on in this turn of the event loop, so the next chunks are collected. */
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

  /**
   * A short body that arrived with its head needs no stream: head and body are sent in one write. All its bytes can be here
   * before the request is `complete`: Node.js runs ticks between the last bytes and the end of the message. Nothing resumes
   * such a request, because Node.js makes it end when its response is sent, as it does for a request without a body.
   * @param bodyBytes Infinity: unknown in advance
   */
  take(bodyBytes: number, onChunk: (chunk: Buffer) => void, stuck: StalledSide): Buffer | RequestBody {
    if (this.#store.bytes !== bodyBytes)
      return new RequestBody({ request: this.#request, inlet: this }, onChunk, stuck);
    const bytes = this.#store.take();
    onChunk(bytes);
    return bytes;
  }

  /** Passes stored and new chunks to the reader as it accepts them. */
  readBy(reader: Reader): void {
    this.#reader = reader;
    this.#hasRoom();
    // Makes the request emit its end. The request itself emits no data.
    this.#request.resume();
  }

  /** Call it when the reader accepts more. */
  flow(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    if (!this.#isGathering) this.#flush();
  }

  /** true: no bytes wait for the reader. */
  get isEmpty(): boolean {
    return this.#store.bytes === 0;
  }

  /** Removes the reader. New chunks are stored up to the limit. */
  leave(): void {
    this.#reader = null;
    this.#isTaken = false;
  }

  /** Call it when the exchange is over. The rest of the body is read and dropped. */
  drop(): void {
    this.leave();
    this.#isDropped = true;
    this.#store.clear();
    this.#readOn();
  }

  /** Returns false to make Node.js stop reading the connection. */
  #receive(chunk: Buffer): boolean {
    const hasRoom = this.#pass(chunk);
    return this.#brake.passes(chunk) && hasRoom;
  }

  /** Passes a chunk on or stores it. Returns false if the store is full. */
  #pass(chunk: Buffer): boolean {
    if (this.#isDropped) return true;
    if (!this.#isTaken || this.#isGathering) {
      this.#store.add(chunk);
      return this.#hasRoom();
    }
    if (chunk.length < PIECE_BYTES) {
      this.#isGathering = true;
      // Not process.nextTick, which runs between two chunks of one read.
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
    // A request does the same when its reader requests more.
    if (!this.#request.complete && !this.#brake.isHeld) this.#request._read(0);
  }
}

/**
 * The body of a request as a separate stream. The client library destroys a body that it no longer needs (after an early
 * response). If that were the request itself, its connection could not be read to the end.
 */
class RequestBody extends Readable implements Reader {
  readonly #request: IncomingMessage;
  readonly #inlet: BodyInlet;
  readonly #onChunk: (chunk: Buffer) => void;
  readonly #stuck: StalledSide;
  #isStuck = false;
  #hasEnded = false;

  constructor(
    { request, inlet }: { request: IncomingMessage; inlet: BodyInlet },
    onChunk: (chunk: Buffer) => void,
    stuck: StalledSide,
  ) {
    // The inlet buffers, not this stream.
    super({ highWaterMark: 1 });
    this.#request = request;
    this.#inlet = inlet;
    this.#onChunk = onChunk;
    this.#stuck = stuck;
    // The reader of this stream handles errors. Without a reader, an error must not be thrown.
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
    this.#onChunk(chunk);
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

  /** If the client disconnects before the end of the body, the stream must fail instead of end. */
  readonly #leave = (): void => {
    if (!this.#request.readableEnded) this.destroy(new Error('the client disconnected'));
  };
}
