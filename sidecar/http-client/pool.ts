import { KnownLines, type HeaderLine } from '../../core/untrusted/known-lines.ts';
import { Connection, type ConnectionOwner, type Target } from './connection.ts';
import type { Transfer } from './transfer.ts';

export interface PoolOptions {
  target: Target;
  /** Milliseconds after which an idle connection is closed, unless the agent announces its own time-out. */
  idleMs: number;
  /** Requests above this number wait for a connection. */
  maxConnections: number;
}

/** An idle connection is closed this long before the agent would close it. */
const MARGIN_MS = 2_000;
/** Longest time-out that an agent may announce. */
const MAX_IDLE_MS = 600_000;

/** The connections of one client. The one that was used last is used first, so the others can become idle and be closed. */
export class Pool implements ConnectionOwner {
  readonly knownLines = new KnownLines<HeaderLine>();
  readonly #options: PoolOptions;
  readonly #all = new Set<Connection>();
  /** Idle connections, the last used one at the end. */
  readonly #idle: Connection[] = [];
  /** Connections that become idle in this turn of the event loop. */
  #freed: Connection[] = [];
  /** Monotonic time of the first one of them. */
  #freedAtMs = 0;
  /** Requests that wait for a connection. */
  readonly #waiting: Transfer[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #knownKeepAlive = '';
  #knownIdleMs: number;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#knownIdleMs = options.idleMs;
  }

  /** Sends the request on an idle connection or a new one. */
  send(transfer: Transfer): void {
    if (this.#isClosed) {
      transfer.fail({ kind: 'broken', error: new Error('the client is closed') });
      return;
    }
    const idle = this.#takeIdle();
    if (idle !== undefined) idle.send(transfer);
    else if (this.#all.size < this.#options.maxConnections)
      this.#all.add(new Connection(this.#options.target, this, transfer));
    else this.#waiting.push(transfer);
  }

  #takeIdle(): Connection | undefined {
    let connection = this.#idle.pop();
    if (connection === undefined) return undefined;
    const now = performance.now();
    while (connection !== undefined && connection.idleUntilMs <= now) {
      connection.cut();
      connection = this.#idle.pop();
    }
    return connection;
  }

  onFree(connection: Connection, keepAlive: string): void {
    const idleMs = this.#idleMsOf(keepAlive);
    if (this.#isClosed || idleMs <= 0) {
      connection.cut();
      return;
    }
    if (this.#freed.length === 0) {
      this.#freedAtMs = performance.now();
      // After bytes that have already arrived on the connection, which must not be read as the response to the next request.
      setImmediate(this.#reuse);
    }
    connection.idleUntilMs = this.#freedAtMs + idleMs;
    this.#freed.push(connection);
  }

  #idleMsOf(keepAlive: string): number {
    if (keepAlive === this.#knownKeepAlive) return this.#knownIdleMs;
    const seconds = /(?:^|,)[\t ]*timeout=(\d+)/i.exec(keepAlive)?.[1];
    this.#knownKeepAlive = keepAlive;
    this.#knownIdleMs =
      seconds === undefined
        ? this.#options.idleMs
        : Math.min(Number(seconds) * 1_000 - MARGIN_MS, MAX_IDLE_MS);
    return this.#knownIdleMs;
  }

  readonly #reuse = (): void => {
    const freed = this.#freed;
    this.#freed = [];
    for (const connection of freed) {
      if (!this.#all.has(connection)) continue;
      const next = this.#nextWaiting();
      if (next !== undefined) connection.send(next);
      else this.#idle.push(connection);
    }
    this.#closeLater();
  };

  #nextWaiting(): Transfer | undefined {
    let next = this.#waiting.shift();
    while (next?.isOver === true) next = this.#waiting.shift();
    return next;
  }

  /** An agent that restarts closes all idle connections, so a repeated request needs a new one. */
  onStale(): void {
    for (const connection of this.#idle.splice(0)) connection.cut();
  }

  onClose(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#isClosed) return;
    const next = this.#nextWaiting();
    if (next !== undefined) this.send(next);
  }

  /** One timer for all idle connections. */
  #closeLater(): void {
    if (this.#timer !== null || this.#idle.length === 0 || this.#isClosed) return;
    let first = Infinity;
    for (const { idleUntilMs } of this.#idle) first = Math.min(first, idleUntilMs);
    this.#timer = setTimeout(this.#closeIdle, Math.max(1, first - performance.now()));
    this.#timer.unref();
  }

  readonly #closeIdle = (): void => {
    this.#timer = null;
    const now = performance.now();
    for (const connection of this.#idle.filter(({ idleUntilMs }) => idleUntilMs <= now)) connection.cut();
    this.#closeLater();
  };

  /** Closes all connections at once. Requests in flight and requests that wait get no more events. */
  cut(): void {
    this.#waiting.length = 0;
    for (const connection of this.#all) connection.cut();
  }

  /** Closes all connections. Requests in flight fail. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const connection of this.#all) connection.close();
    for (const transfer of this.#waiting.splice(0))
      transfer.fail({ kind: 'broken', error: new Error('the client is closed') });
  }
}
