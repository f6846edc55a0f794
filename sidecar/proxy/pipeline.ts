import type { Socket } from 'node:net';

/** Requests without an answer on one connection, from which on no more is read of it; what was read already is still taken. */
const MAX_UNANSWERED = 64;

export interface Turn {
  /** Without an effect, so that it does not matter which of several is done first (RFC 9110 section 9.2.1); nor has it a body to wait for. */
  readonly isSafe: boolean;
  /** Its turn has come: at once, or after others. */
  start(hasWaited: boolean): void;
}

/**
 * The requests of one connection that are not answered yet. A client that sends the next before the answer to the last
 * means them one after the other: only safe ones go on side by side (RFC 9112 section 9.3.2).
 */
export class Pipeline<T extends Turn> {
  /** The last request of the connection, answered or not; null: it was refused, and nothing behind it is a request. */
  newest: T | null | undefined = undefined;
  readonly #socket: Socket;
  readonly #turns: T[] = [];
  /** Of these turns, from the first. */
  #started = 0;
  #willPause = false;
  #isPaused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Nothing on the connection waits for an answer, and what comes on it is a request. */
  get isFree(): boolean {
    return this.newest !== null && this.#turns.length === 0;
  }

  /** Takes the next request, and starts it when its turn has come, unless its connection ends before. */
  add(turn: T): void {
    this.newest = turn;
    this.#turns.push(turn);
    this.#startNext(false);
    if (this.#turns.length < MAX_UNANSWERED || this.#willPause) return;
    this.#willPause = true;
    // Not now: Node resumes the connection at the end of each request that it reads.
    setImmediate(this.#pause);
  }

  /** The answer to the first one is out, whole. */
  answered(): void {
    this.#turns.shift();
    this.#started -= 1;
    // Where the connection ends with that answer, the client is to send the rest again.
    if (this.#turns.length > 0 && this.#socket.writable) this.#startNext(true);
    if (!this.#isPaused || this.#turns.length >= MAX_UNANSWERED) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  readonly #pause = (): void => {
    this.#willPause = false;
    if (this.#turns.length < MAX_UNANSWERED) return;
    this.#isPaused = true;
    this.#socket.pause();
  };

  #startNext(hasWaited: boolean): void {
    for (;;) {
      const next = this.#turns[this.#started];
      const last = this.#turns[this.#started - 1];
      if (next === undefined || (last !== undefined && !(last.isSafe && next.isSafe))) return;
      this.#started += 1;
      next.start(hasWaited);
    }
  }
}
