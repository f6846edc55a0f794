import type { Socket } from 'node:net';
import type { LoadLimits, PipelineShare } from './load-limits.ts';

/** Requests without an answer on one connection, from which on no more is read of it; what was read already is still taken. */
const MAX_UNANSWERED = 64;
/** Bytes read since a request waits, from which on no more is read of its connection. */
const MAX_READ_AHEAD = 64 * 1024;

export interface Turn {
  /** Without an effect, so that it does not matter which of several is done first (RFC 9110 section 9.2.1); nor has it a body to wait for. */
  readonly isSafe: boolean;
  /** Its turn has come: at once, or after others. `isEarly`: the responses in front of it are not out, and the room for its own is reserved. */
  start(hasWaited: boolean, isEarly: boolean): void;
}

/** Node's parser of a connection. It calls `onIncoming` with each head that it has read. */
type ParsedSocket = Socket & { parser?: { onIncoming: () => number } | null };
/** What the parser takes for an upgrade: it reads nothing behind that head in the bytes at hand. */
const STOP_PARSING = 2;

/** Room for one request. */
export interface Admission {
  /** Of the connection's share. */
  bytes: number;
  /** Of these, what it holds until it is answered: its head. */
  kept: number;
  /** Of the room for first requests. */
  head: number;
}

/**
 * The requests of one connection that are not answered yet. A client that sends the next before the answer to the last
 * means them one after the other: only safe ones go on side by side (RFC 9112 section 9.3.2).
 */
export class Pipeline<T extends Turn> implements PipelineShare {
  /** What its requests hold, of the bytes for pipelined requests. */
  bytes = 0;
  /** The last request of the connection, answered or not; null: it was refused, and nothing behind it is a request. */
  newest: T | null | undefined = undefined;
  readonly #socket: Socket;
  readonly #load: LoadLimits;
  readonly #turns: T[] = [];
  /** Of each turn, in the same order. */
  readonly #admissions: Admission[] = [];
  /** Of these turns, from the first. */
  #started = 0;
  /** Bytes read when the first of those that wait came. */
  #readBefore = 0;
  #willPause = false;
  #isPaused = false;
  #isClosed = false;

  constructor(socket: Socket, load: LoadLimits) {
    this.#socket = socket;
    this.#load = load;
    socket.once('close', this.#close);
  }

  /** Nothing on the connection waits for an answer, and what comes on it is a request. */
  get isFree(): boolean {
    return this.newest !== null && this.#turns.length === 0;
  }

  /** Room for the next request; null: there is none, and it is to be refused. */
  admit(headBytes: number, bodyBytes: number): Admission | null {
    if (this.#turns.length === 0)
      return this.#load.admit(headBytes) ? { bytes: 0, kept: 0, head: headBytes } : null;
    const bytes = this.#load.admitWaiting(this, headBytes, bodyBytes);
    return bytes === 0 ? null : { bytes, kept: headBytes, head: 0 };
  }

  /** Takes the next request, and starts it when its turn has come, unless its connection ends before. */
  add(turn: T, admission: Admission): void {
    this.newest = turn;
    const hadWaiting = this.#started < this.#turns.length;
    this.#turns.push(turn);
    this.#admissions.push(admission);
    this.#startNext(false);
    if (!hadWaiting) this.#readBefore = this.#socket.bytesRead;
    if (!this.#isFull || this.#willPause) return;
    this.#willPause = true;
    // Not now: Node resumes the connection at the end of each request that it reads.
    setImmediate(this.#pause);
  }

  /** The request at hand is refused. Nothing behind it is parsed: Node.js would keep objects for each request in it. */
  refuse(): void {
    this.newest = null;
    // What comes is dropped, and the client's end is heard.
    if (this.#isPaused) this.#resume();
    const { parser } = this.#socket as ParsedSocket;
    if (parser) parser.onIncoming = () => STOP_PARSING;
  }

  /** The answer to the first one is out, whole. */
  answered(): void {
    if (this.#isClosed) return;
    this.#turns.shift();
    this.#end(this.#admissions.shift());
    this.#started -= 1;
    if (this.#turns.length === 0) this.#load.leave();
    // Where the connection ends with that answer, the client is to send the rest again.
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

  /** Others need the room. */
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
