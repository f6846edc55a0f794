import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { types } from 'node:util';
import { closableSession } from '../sql/closable-session.ts';
import type { SqlDatabase, SqlSession, SqlValue } from '../sql/sql-database.ts';
import { unavailable } from '../sql/unavailable.ts';
import { openDatabase } from './open-database.ts';

/** A transaction that waits for its group. */
interface Waiting {
  /** Runs the work. Resolves with the function that reports the success, to be called after the commit. */
  run(session: SqlSession): Promise<() => void>;
  fail(error: unknown): void;
}

/** Maximum number of transactions in a group. The event loop handles no requests while a group runs. */
const MAX_GROUP = 64;
/** Maximum number of transactions that wait. Above it, senders would time out before their response. */
const MAX_WAITING = 2_000;

/**
 * SQLite is synchronous: a commit blocks the event loop until the data is on disk, and requests that arrive meanwhile wait in
 * their sockets. All transactions of one turn of the event loop therefore share a commit. Each has a savepoint, so that a failure
 * rolls back only its own changes.
 */
export class SqliteDatabase implements SqlDatabase {
  readonly forUpdate = '';
  readonly #directory: string;
  readonly #statements = new Map<string, StatementSync>();
  #database: DatabaseSync | null = null;
  #isClosing = false;
  #waiting: Waiting[] = [];
  #groups: Promise<void> | null = null;

  /** @param directory of the database file; created if missing */
  constructor(directory: string) {
    this.#directory = directory;
  }

  open(): Promise<void> {
    return attempt(() => {
      this.#database = openDatabase(this.#directory);
    });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#groups;
    this.#statements.clear();
    this.#database?.close();
    this.#database = null;
  }

  unready(): string | null {
    return this.#database === null || this.#isClosing ? NOT_OPEN : null;
  }

  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    if (this.unready() !== null) return Promise.reject(unavailable(new Error(NOT_OPEN)));
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(unavailable(new Error(OVERLOADED)));
    return new Promise<T>((resolve, reject) => {
      const run = async (session: SqlSession): Promise<() => void> => {
        const result = await work(session);
        return () => resolve(result);
      };
      this.#waiting.push({ run, fail: reject });
      this.#groups ??= this.#runGroups();
    });
  }

  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.transaction(work);
  }

  async #runGroups(): Promise<void> {
    while (this.#waiting.length > 0) {
      // The other requests of this turn of the event loop add their transactions to the group.
      await setImmediate();
      await this.#commit(this.#waiting.splice(0, MAX_GROUP));
    }
    this.#groups = null;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const settled: (() => void)[] = [];
    try {
      this.#prepared('BEGIN IMMEDIATE').run();
      for (const each of group) settled.push(await this.#run(each));
      this.#prepared('COMMIT').run();
    } catch (error) {
      // A failed commit sometimes ends the transaction itself, for example with a full disk.
      if (this.#database?.isTransaction === true) this.#prepared('ROLLBACK').run();
      for (const each of group) each.fail(unavailable(error));
      return;
    }
    for (const settle of settled) settle();
  }

  /** Rejects if the whole group is rolled back; else resolves with the function that settles the transaction. */
  async #run(each: Waiting): Promise<() => void> {
    this.#prepared('SAVEPOINT one').run();
    const session = closableSession({
      // As any other object; those of SQLite have no prototype.
      all: <R extends object>(sql: string, ...values: readonly SqlValue[]) =>
        attempt(() =>
          this.#prepared(sql)
            .all(...values)
            .map((row) => ({ ...row }) as R),
        ),
      run: (sql, ...values) => attempt(() => Number(this.#prepared(sql).run(...values).changes)),
    });
    try {
      const succeed = await each.run(session);
      session.close();
      this.#prepared('RELEASE one').run();
      return succeed;
    } catch (error) {
      session.close();
      // After some errors, such as of a full disk, SQLite has already rolled back the group.
      if (this.#database?.isTransaction !== true) throw error;
      this.#prepared('ROLLBACK TO one').run();
      this.#prepared('RELEASE one').run();
      return () => each.fail(isSqliteError(error) ? unavailable(error) : error);
    }
  }

  /** The texts are constants, apart from the filters of the list, so the number of statements is limited. */
  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#database === null) throw unavailable(new Error(NOT_OPEN));
    // SQLite numbers `?1` by its number, but `$1` by its first occurrence.
    const statement = this.#database.prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
    this.#statements.set(sql, statement);
    return statement;
  }
}

const NOT_OPEN = 'the database is not open';
const OVERLOADED = `${MAX_WAITING} transactions already wait for the database`;

/** The result of synchronous work as a promise, which rejects if the work throws. */
function attempt<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}

/** Other errors are bugs and must not become a 503. Not `instanceof`: in tests, Node.js's own errors are of another realm. */
function isSqliteError(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === 'ERR_SQLITE_ERROR';
}
