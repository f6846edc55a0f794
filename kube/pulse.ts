import { systemClock } from '../runtime/clock.ts';

export interface PulseOptions {
  /**
   * Asks the server for something small; rejects without an answer. `used`: through the pool in use, which takes a
   * connection that idles or opens one more; `new`: on one outside of it.
   */
  ask: (connection: 'used' | 'new') => Promise<void>;
  /** A connection outside the pool is answered at once, and the pool is not: whatever waits on it may wait for ever. */
  onDead: () => void;
  timing?: PulseTiming;
}

/** Milliseconds. */
export interface PulseTiming {
  /** After this much silence the server is asked. */
  silentMs: number;
  /** How long the pool in use may take to answer; a slow server answers late on a new connection too. */
  answerMs: number;
  /** The same for a new connection; shorter, so that a slow server is never taken for dead connections. */
  newAnswerMs: number;
  /** Between two questions on new connections. */
  againMs: number;
}

const TIMING: PulseTiming = { silentMs: 5_000, answerMs: 5_000, newAnswerMs: 3_000, againMs: 1_000 };

/**
 * Tells a server with nothing to say from one that is away, and both from a pool whose connections are dead without anybody
 * having closed them (a lost route, a load balancer that forgot them): a quiet watch looks the same in all three cases.
 * A watch has its connection for itself (HTTP/1.1), and no question goes there: an answer says that the pool reaches the
 * server. That a single watch is dead shows by its end, which does not come in time (`InformerTiming`).
 */
export class Pulse {
  readonly #options: PulseOptions;
  readonly #timing: PulseTiming;
  readonly #stop = new AbortController();
  #underWay = 0;
  #heardMs: number | null = null;
  #isWatching = false;

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
  }

  /** Something came from the server. */
  heard(): void {
    this.#heardMs = systemClock.monotonicMs();
  }

  /** Milliseconds since the server was heard; while nothing is under way it is not asked. */
  silentMs(): number {
    return this.#heardMs === null ? Infinity : systemClock.monotonicMs() - this.#heardMs;
  }

  /** An exchange is under way until the function that comes back is called. */
  begin(): () => void {
    this.#underWay += 1;
    this.#watch();
    let isOver = false;
    return () => {
      if (!isOver) this.#underWay -= 1;
      isOver = true;
    };
  }

  close(): void {
    this.#stop.abort();
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#run().finally(() => {
      this.#isWatching = false;
      // What began while the loop was ending.
      if (this.#underWay > 0 && !this.#stop.signal.aborted) this.#watch();
    });
  }

  async #run(): Promise<void> {
    const { silentMs, answerMs } = this.#timing;
    const began = systemClock.monotonicMs();
    const silence = () => Math.min(this.silentMs(), systemClock.monotonicMs() - began);
    while (await this.#pause(silentMs)) {
      if (silence() < silentMs || (await this.#answers('used', answerMs))) continue;
      await this.#findOut();
    }
  }

  /** The pool is silent. Only a connection outside of it tells whether it is the pool or the server. */
  async #findOut(): Promise<void> {
    const { newAnswerMs, againMs } = this.#timing;
    do {
      if (!(await this.#answers('new', newAnswerMs))) continue;
      this.#options.onDead();
      return;
    } while (await this.#pause(againMs));
  }

  /** False: nothing is under way any more. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#stop;
    await systemClock.sleep(ms, signal).catch(() => undefined);
    return !signal.aborted && this.#underWay > 0;
  }

  /** In time; a later answer still counts as heard. */
  #answers(connection: 'used' | 'new', withinMs: number): Promise<boolean> {
    const answer = this.#options.ask(connection).then(
      () => {
        this.heard();
        return true;
      },
      () => false,
    );
    return Promise.race([answer, this.#pause(withinMs).then(() => false)]);
  }
}
