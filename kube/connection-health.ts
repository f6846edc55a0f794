import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock, type Clock } from '../runtime/clock.ts';

export interface ConnectionHealthOptions {
  /**
   * Sends a small request; rejects when no response arrives. `pooled`: through the pool in use, on an idle or an additional
   * connection. `new`: on a connection outside the pool.
   */
  probe: (connection: 'pooled' | 'new') => Promise<void>;
  /** The server responds on a new connection but not through the pool, so requests on the pool may never end. */
  onDead: () => void;
  clock?: Clock;
  timing?: ConnectionHealthTiming;
}

/** Milliseconds. */
export interface ConnectionHealthTiming {
  /** A probe is sent after this much silence. */
  silentMs: number;
  /** Limit for the response to a probe through the pool. A slow server responds late on a new connection too. */
  pooledMs: number;
  /** The same for a new connection. It is shorter, so that a slow server is never mistaken for dead connections. */
  newMs: number;
  /** The pause between two probes on new connections. */
  retryMs: number;
}

const TIMING: ConnectionHealthTiming = { silentMs: 5_000, pooledMs: 5_000, newMs: 3_000, retryMs: 1_000 };

/**
 * Distinguishes three states that look the same from a quiet watch: a server without changes, an unreachable server, and
 * a pool whose connections are dead although no side closed them (a lost route, a load balancer that dropped its state).
 * A watch occupies its connection (HTTP/1.1), so no probe ever uses the connection of a watch. A response to a probe shows
 * that the pool reaches the server. A single dead watch is detected by its missing end (`InformerTiming`).
 */
export class ConnectionHealth {
  readonly #options: ConnectionHealthOptions;
  readonly #timing: ConnectionHealthTiming;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #inFlight = 0;
  /** How often data arrived through the pool, and when it arrived last. */
  #received = { count: 0, atMs: -Infinity };
  #isRunning = false;

  constructor(options: ConnectionHealthOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    this.#clock = options.clock ?? systemClock;
  }

  /** Data arrived from the server through the pool. */
  received(): void {
    this.#received.count += 1;
    this.#received.atMs = this.#clock.monotonicMs();
  }

  /** An exchange is in flight until the returned function is called. */
  begin(): () => void {
    this.#inFlight += 1;
    this.#start();
    let isOver = false;
    return () => {
      if (!isOver) this.#inFlight -= 1;
      isOver = true;
    };
  }

  close(): void {
    this.#stop.abort();
  }

  #start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run().finally(() => {
      this.#isRunning = false;
      // An exchange that began while the loop was ending.
      if (this.#isNeeded()) this.#start();
    });
  }

  async #run(): Promise<void> {
    const { silentMs, pooledMs } = this.#timing;
    const startedAtMs = this.#clock.monotonicMs();
    const silence = () => this.#clock.monotonicMs() - Math.max(this.#received.atMs, startedAtMs);
    while (await this.#pause(silentMs)) {
      if (silence() < silentMs) continue;
      const { count } = this.#received;
      if (!(await this.#responds('pooled', pooledMs))) await this.#diagnose(count);
    }
  }

  /** No response arrived through the pool in time. A connection outside the pool shows whether pool or server is the cause. */
  async #diagnose(count: number): Promise<void> {
    const { newMs, retryMs } = this.#timing;
    // A late response through the pool ends the diagnosis: a slow connection is not a dead one.
    const isSilent = () => this.#received.count === count;
    while (isSilent() && this.#isNeeded()) {
      if ((await this.#responds('new', newMs)) && isSilent()) {
        this.#options.onDead();
        return;
      }
      await this.#pause(retryMs);
    }
  }

  /** Whether an exchange is in flight and nothing has stopped the probes. */
  #isNeeded(): boolean {
    return this.#inFlight > 0 && !this.#stop.signal.aborted;
  }

  /** Returns whether the probes are still needed. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#stop;
    await this.#clock.sleep(ms, signal).catch(() => undefined);
    // After a pause of the process (no processor, a suspended container) timers expire first. Responses that have arrived
    // meanwhile must be read before they are judged late.
    await nextTurn();
    return this.#isNeeded();
  }

  #responds(connection: 'pooled' | 'new', withinMs: number): Promise<boolean> {
    const response = this.#options.probe(connection).then(
      () => {
        if (connection === 'pooled') this.received();
        return true;
      },
      () => false,
    );
    return Promise.race([response, this.#pause(withinMs).then(() => false)]);
  }
}
