import type { Socket } from 'node:net';
import { stopParsing } from '../../runtime/connection-limits.ts';
import type { LoadLimits, PipelineShare } from './load-limits.ts';

/** Unanswered requests of one connection. At this number, no further one is parsed. */
const MAX_UNANSWERED = 64;

export interface QueueSlot {
  /** true: the method is safe (RFC 9110 section 9.2.1) and there is no body, so the order of such requests does not matter. */
  readonly isSafe: boolean;
  /** Whether the body is complete. */
  readonly isReceived: boolean;
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
export class Pipeline<T extends QueueSlot> implements PipelineShare {
  /** Bytes of the pipelining budget that the requests hold. */
  bytes = 0;
  /** The last request of the connection, also after its response; null: it was rejected, and all bytes after it are ignored. */
  newest: T | null | undefined = undefined;
  readonly #socket: Socket;
  readonly #load: LoadLimits;
  readonly #readOn: (socket: Socket) => void;
  readonly #turns: T[] = [];
  /** One admission for each turn, in the same order. */
  readonly #admissions: Admission[] = [];
  /** Number of started turns, counted from the first. */
  #started = 0;
  #isClosed = false;

  /** `readOn` is called when `mayParse` may have become true. */
  constructor(socket: Socket, load: LoadLimits, readOn: (socket: Socket) => void) {
    this.#socket = socket;
    this.#load = load;
    this.#readOn = readOn;
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
    this.#turns.push(turn);
    this.#admissions.push(admission);
    this.#startNext(false);
  }

  /** Rejects the current request, after which nothing is parsed any more. */
  reject(): void {
    this.newest = null;
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
    this.#readOn(this.#socket);
  }

  /** Whether the parser may get the next head. After a rejected request it may, because the end of the connection must be detected. */
  get mayParse(): boolean {
    const { newest } = this;
    const turns = this.#turns.length;
    if (turns === 0 || newest === null) return true;
    // The body of the request in flight.
    if (this.#started === turns && newest?.isReceived === false) return true;
    return turns < MAX_UNANSWERED && !this.#load.isNearlyFull(this);
  }

  /** Closes the connection to free memory for others. The memory is free when it is closed. */
  shed(): void {
    this.#socket.destroy();
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
