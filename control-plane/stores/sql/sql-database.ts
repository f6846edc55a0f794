export type SqlValue = string | number | null;
export type Row = Record<string, unknown>;

/**
 * Statements in one transaction. Every statement text is valid in both SQLite and PostgreSQL and has the parameters `$1`, `$2`,
 * ...; the number of a parameter may occur several times. Times are milliseconds since the epoch in BIGINT columns, documents
 * are JSON in TEXT columns. BIGINT and NUMERIC values arrive as numbers. Statements run in the order of the calls, also if a call does
 * not wait for the result of the call before. Statements after the end of the transaction are rejected.
 */
export interface SqlSession {
  /** The rows of a query, which must not change anything. Its columns have the names of the members of `R`. */
  all<R extends object = Row>(sql: string, ...values: readonly SqlValue[]): Promise<R[]>;
  /** The number of changed rows. */
  run(sql: string, ...values: readonly SqlValue[]): Promise<number>;
}

/** One database. SQLite and PostgreSQL implement it. */
export interface SqlDatabase {
  /**
   * Connects and migrates the schema. Rejects with an error that names the variable to correct. A server that is not available is
   * not an error: `unready` has the reason until it is available.
   */
  open(): Promise<void>;
  close(): Promise<void>;
  /** null: ready; else the reason. */
  unready(): string | null;
  /**
   * Runs `work` in one transaction, durable when the promise resolves, rolled back if `work` rejects. `work` may run again after a
   * serialization failure, so it must have no side effects outside the session. Rejects with a Problem 503 if the database is
   * unavailable.
   */
  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /** Like `transaction`, for `work` that only reads. Its statements need not see the same state. */
  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /**
   * The end of a SELECT that locks its rows until the end of the transaction: ` FOR UPDATE` in PostgreSQL; empty in SQLite, which
   * runs one transaction at a time.
   */
  readonly forUpdate: '' | ' FOR UPDATE';
}
