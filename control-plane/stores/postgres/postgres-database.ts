import type pg from 'pg';
import { slept, type Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import type { SqlDatabase, SqlSession } from '../sql/sql-database.ts';
import { unavailable } from '../sql/unavailable.ts';
import { clientConfigOf, createPool, TIMEOUTS, withClient, type ConnectionSettings } from './connections.ts';
import { explain, kindOf } from './failures.ts';
import { migrate } from './migrations.ts';
import { runTransaction, type Ending } from './run-transaction.ts';
import { NEWER_SCHEMA, UnusableServer } from './unusable-server.ts';

export interface PostgresOptions extends ConnectionSettings {
  clock: Clock;
  logger: Logger;
}

/** How often a transaction is run, the first run included. */
const MAX_RUNS = 5;
/** Maximum number of transactions that wait for a connection, for each connection of the pool. */
const MAX_WAITING = 50;
/** The pauses between two attempts to connect, in milliseconds. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

/** All connections are in use. The server itself may be available. */
class PoolExhausted extends Error {
  constructor(size: number, options?: ErrorOptions) {
    super(`all ${size} connections to the database are in use (DATABASE_POOL)`, options);
    this.name = 'PoolExhausted';
  }
}

/**
 * PostgreSQL. While the server is unavailable, transactions are rejected at once and the connection is retried with increasing
 * pauses. An outage is one log entry, and one more for each new reason.
 */
export class PostgresDatabase implements SqlDatabase {
  readonly forUpdate = ' FOR UPDATE';
  readonly #options: PostgresOptions;
  readonly #names = new Map<string, string>();
  readonly #stop = new AbortController();
  #config: pg.ClientConfig = {};
  #pool: pg.Pool | null = null;
  /** The connections that were made since the last failure. Older ones may lead to a server that is no longer the primary. */
  #current = new WeakSet<pg.ClientBase>();
  #isMigrated = false;
  /** When a transaction was last committed, in milliseconds of the monotonic clock. */
  #workedAtMs = -Infinity;
  /** null: available. */
  #outage: { reason: string; logged: string } | null = { reason: 'the database is not open', logged: '' };
  #recovery: Promise<void> | null = null;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  /**
   * Resolves after the first attempt to connect, also if it failed: the process starts without the server and becomes ready when
   * the server is available. Rejects if DATABASE_CA_FILE is invalid, or if a newer build wrote the database.
   */
  async open(): Promise<void> {
    this.#config = clientConfigOf(this.#options);
    this.#pool = createPool(this.#options, this.#config, (client) => this.#current.add(client));
    const error = await this.#connect();
    if (error instanceof UnusableServer && error.explanation === NEWER_SCHEMA) {
      await this.close();
      throw error;
    }
    if (error === null) this.#outage = null;
    else this.#fail(error);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#recovery;
    const pool = this.#pool;
    this.#pool = null;
    this.#outage = { reason: 'the database is not open', logged: '' };
    await pool?.end();
  }

  unready(): string | null {
    return this.#outage?.reason ?? null;
  }

  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#repeat(work, false);
  }

  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#repeat(work, true);
  }

  async #repeat<T>(work: (session: SqlSession) => Promise<T>, isRead: boolean): Promise<T> {
    for (let run = 1; ; run += 1) {
      const ending = await this.#run(work, isRead);
      if (ending.kind === 'committed') return ending.result;
      if (ending.kind === 'failed') throw ending.error;
      if (ending.kind === 'unavailable' || run === MAX_RUNS) throw unavailable(ending.error);
    }
  }

  async #run<T>(work: (session: SqlSession) => Promise<T>, isRead: boolean): Promise<Ending<T>> {
    const client = await this.#take();
    const ending = await runTransaction(client, { work, isRead, nameOf: (sql) => this.#nameOf(sql) });
    const isBroken = ending.kind !== 'committed' && ending.isBroken;
    const isCurrent = this.#current.has(client);
    if (isBroken) this.#current = new WeakSet();
    client.release(isBroken);
    if (ending.kind === 'committed') this.#workedAtMs = this.#options.clock.monotonicMs();
    if (ending.kind !== 'failed' || kindOf(ending.error) !== 'schema') return ending;
    // Older connections report what a recovery since then may have repaired.
    if (isCurrent) {
      this.#isMigrated = false;
      this.#fail(ending.error);
    }
    throw unavailable();
  }

  /** A connection for a transaction. Rejects with a Problem 503. */
  async #take(): Promise<pg.PoolClient> {
    // The failure is in the log already, so the response has no cause.
    if (this.#outage !== null) throw unavailable();
    try {
      return await this.#checkOut();
    } catch (error) {
      // Other connections still work: the server has no free connection, or this process has none.
      if (error instanceof PoolExhausted || kindOf(error) === 'overload' || this.#isBusy(error))
        throw unavailable(error);
      this.#fail(error);
      throw unavailable();
    }
  }

  /**
   * Whether a server that still responds was too slow to accept a connection. Such a server must not lose its other connections,
   * because replacing them all would slow it down further.
   */
  #isBusy(error: unknown): boolean {
    const { clock, timeouts } = this.#options;
    const isTimeout = error instanceof Error && error.message.includes('due to connection timeout');
    return isTimeout && clock.monotonicMs() - this.#workedAtMs < (timeouts ?? TIMEOUTS).responseMs;
  }

  async #checkOut(): Promise<pg.PoolClient> {
    const pool = this.#pool;
    if (pool === null) throw new Error('the database is not open');
    const { poolSize } = this.#options;
    if (pool.waitingCount >= MAX_WAITING * poolSize) throw new PoolExhausted(poolSize);
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        throw isWaitingTooLong(error) ? new PoolExhausted(poolSize, { cause: error }) : error;
      });
      if (this.#current.has(client)) return client;
      client.release(true);
    }
  }

  /** null: the server accepts changes, and the schema is this build's. */
  async #connect(): Promise<unknown> {
    try {
      if (!this.#isMigrated) await withClient(this.#config, migrate);
      this.#isMigrated = true;
      (await this.#checkOut()).release();
      return null;
    } catch (error) {
      return error;
    }
  }

  #fail(error: unknown): void {
    this.#current = new WeakSet();
    this.#report(error);
    this.#recovery ??= this.#recover();
  }

  async #recover(): Promise<void> {
    const { clock, logger } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      if (!(await slept(clock, pauseMs, this.#stop.signal))) return;
      const error = await this.#connect();
      if (error === null) break;
      this.#report(error);
    }
    this.#outage = null;
    this.#recovery = null;
    logger.info('database available');
  }

  #report(error: unknown): void {
    const { reason, fix } = explain(error);
    const { host, port, database } = this.#options.address;
    const logged = describeError(error);
    if (logged !== this.#outage?.logged)
      this.#options.logger.error('database unavailable, retrying', {
        ...{ reason, error: logged, fix, host, port, database },
      });
    this.#outage = { reason, logged };
  }

  /** Each connection parses and plans a statement once. */
  #nameOf(sql: string): string {
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    const name = `s${this.#names.size + 1}`;
    this.#names.set(sql, name);
    return name;
  }
}

/** The error of the pool after `connectMs` without a free connection; it has no code. */
function isWaitingTooLong(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}
