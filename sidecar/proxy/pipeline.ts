import type { Socket } from 'node:net';
import { stopParsing } from '../../runtime/connection-limits.ts';
import type { LoadLimits, PipelineShare } from './load-limits.ts';

/** Unanswered requests of one connection. At this number, reading stops; requests that were already read are still accepted. */
const MAX_UNANSWERED = 64;
/** Bytes read after the first waiting request. Above this number, reading stops. */
const MAX_READ_AHEAD = 64 * 1024;

export interface Turn {
  /** true: the method is safe (RFC 9110 section 9.2.1) and there is no body, so the order of such requests does not matter. */
  readonly isSafe: boolean;
  /**
   * Starts the request, either immediately or after earlier ones (`hasWaited`). `isEarly`: the previous responses are not sent
   * yet, and memory for this response is reserved.
   */
  start(hasWaited: boolean, isEarly: boolean): void;
}

/** Bytes reserved for one request. */
export interface Admission {
  /** Bytes of the pipelining budget. */
  bytes: number;
  /** Part of `bytes` that is held until the response is sent: the head. */
  kept: number;
  /** Bytes of the budget for first requests. */
  head: number;
}

/**
 * The unanswered requests of one connection. Pipelined requests are processed in order. Only safe requests are sent to the
 * agent concurrently (RFC 9112 section 9.3.2).
 */
export class Pipeline<T extends Turn> implements PipelineShare {
  /** Bytes of the pipelining budget that the requests hold. */
  bytes = 0;
  /** The last request of the connection, answered or not; null: it was rejected, and all bytes after it are ignored. */
  newest: T | null | undefined = undefined;
  readonly #socket: Socket;
  readonly #load: LoadLimits;
  readonly #turns: T[] = [];
  /** One admission for each turn, in the same order. */
  readonly #admissions: Admission[] = [];
  /** Number of started turns, counted from the first. */
  #started = 0;
  /** Bytes read when the first waiting request arrived. */
  #readBefore = 0;
  #willPause = false;
  #isPaused = false;
  #isClosed = false;

  constructor(socket: Socket, load: LoadLimits) {
    this.#socket = socket;
    this.#load = load;
    socket.once('close', this.#close);
  }

  /** true: no request waits for a response, and the next bytes are a request. */
  get isFree(): boolean {
    return this.newest !== null && this.#turns.length === 0;
  }

  /** Reserves memory for the next request; null: the request must be rejected. */
  admit(headBytes: number, bodyBytes: number): Admission | null {
    if (this.#turns.length === 0)
      return this.#load.admit(headBytes) ? { bytes: 0, kept: 0, head: headBytes } : null;
    const bytes = this.#load.admitWaiting(this, headBytes, bodyBytes);
    return bytes === 0 ? null : { bytes, kept: headBytes, head: 0 };
  }

  /** Adds the next request and starts it when its turn comes, unless the connection ends first. */
  add(turn: T, admission: Admission): void {
    this.newest = turn;
    const hadWaiting = this.#started < this.#turns.length;
    this.#turns.push(turn);
    this.#admissions.push(admission);
    this.#startNext(false);
    if (!hadWaiting) this.#readBefore = this.#socket.bytesRead;
    if (!this.#isFull || this.#willPause) return;
    this.#willPause = true;
    // Deferred, because Node.js resumes the connection at the end of each request.
    setImmediate(this.#pause);
  }

  /** Rejects the current request, after which nothing is parsed any more. */
  reject(): void {
    this.newest = null;
    // Further bytes are dropped, but reading must continue to detect the end of the connection.
    if (this.#isPaused) this.#resume();
    stopParsing(this.#socket);
  }

  /** Call it when the complete response to the first request is sent. */
  onResponseSent(): void {
    if (this.#isClosed) return;
    this.#turns.shift();
    this.#end(this.#admissions.shift());
    this.#started -= 1;
    if (this.#turns.length === 0) this.#load.leave();
    // If the connection ends with that response, the client must send the remaining requests again.
    else if (this.#socket.writable) this.#startNext(true);
    if (this.#isPaused && !this.#isFull) this.#resume();
  }

  #resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  get #isFull(): boolean {
    if (this.#turns.length >= MAX_UNANSWERED) return true;
    if (this.#started >= this.#turns.length) return false;
    return this.#socket.bytesRead - this.#readBefore > MAX_READ_AHEAD || this.#load.isNearlyFull(this);
  }

  readonly #pause = (): void => {
    this.#willPause = false;
    if (this.newest === null || !this.#isFull) return;
    this.#isPaused = true;
    this.#socket.pause();
  };

  /** Closes the connection to free memory for others. */
  shed(): void {
    this.#socket.destroy();
    this.#close();
  }

  readonly #close = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#turns.length > 0) this.#load.leave();
    for (const admission of this.#admissions) this.#end(admission);
  };

  #end(admission: Admission | undefined): void {
    if (admission === undefined) return;
    this.#giveBack(admission, 0);
    if (admission.head > 0) this.#load.giveBackHead(admission.head);
  }

  #giveBack(admission: Admission, kept: number): void {
    if (admission.bytes <= kept) return;
    this.#load.giveBack(this, admission.bytes - kept);
    admission.bytes = kept;
  }

  #startNext(hasWaited: boolean): void {
    for (;;) {
      const next = this.#turns[this.#started];
      const last = this.#turns[this.#started - 1];
      if (next === undefined || (last !== undefined && !(last.isSafe && next.isSafe))) return;
      const isEarly = last !== undefined;
      const admission = this.#admissions[this.#started];
      if (isEarly) {
        const bytes = this.#load.startEarly(this);
        if (bytes === 0) return;
        if (admission !== undefined) admission.bytes += bytes;
      } else if (admission !== undefined) this.#giveBack(admission, admission.kept);
      this.#started += 1;
      next.start(hasWaited, isEarly);
    }
  }
}
