import type pg from 'pg';
import { closableSession } from '../sql/closable-session.ts';
import type { Row, SqlSession, SqlValue } from '../sql/sql-database.ts';
import { kindOf } from './failures.ts';

/** How one run of a transaction ended. `isBroken`: the connection must not be used again. */
export type Ending<T> =
  | { kind: 'committed'; result: T }
  /**
   * - failed: an error of the work or a bug; nothing was stored
   * - repeatable: nothing was stored, and the transaction may succeed if it runs again
   * - unavailable: the server could not do it, or it is not known whether it did
   */
  | { kind: 'failed' | 'repeatable' | 'unavailable'; error: unknown; isBroken: boolean };

/** How a transaction runs on its connection. */
export interface Running<T> {
  work: (session: SqlSession) => Promise<T>;
  /** The name of the prepared statement for a text. */
  nameOf: (sql: string) => string;
  /** Only reads, which need not see the same state: without BEGIN and COMMIT. */
  isRead: boolean;
}

/** Runs a transaction on this connection. */
export async function runTransaction<T>(client: pg.Client, running: Running<T>): Promise<Ending<T>> {
  const { work, nameOf, isRead } = running;
  const failures: unknown[] = [];
  const query: Query = async (text, values) => {
    try {
      sendTogether(client);
      const config = { name: nameOf(text), text, values: values.map(storable) };
      return await client.query<Row, SqlValue[]>(config);
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  // Explicit: the account may have another default, with which waiting for a row would fail.
  const begun = isRead ? Promise.resolve() : query('BEGIN ISOLATION LEVEL READ COMMITTED', []);
  const session = sessionAfter(begun, query);
  let isCommitting = false;
  try {
    const result = await work(session);
    session.close();
    await begun;
    if (isRead) return { kind: 'committed', result };
    isCommitting = true;
    const { command } = await query('COMMIT', []);
    // The server responds to COMMIT with ROLLBACK if a statement failed before.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return { kind: 'committed', result };
  } catch (error) {
    session.close();
    return failures.length === 0
      ? { kind: 'failed', error, isBroken: !(await isRolledBack(client)) }
      : endingOf(client, failures[0], isCommitting);
  }
}

type Query = (text: string, values: readonly SqlValue[]) => Promise<pg.QueryResult<Row>>;

/** Statements after `begun`. The first one is sent together with BEGIN if it is a query, which changes nothing without it. */
function sessionAfter(begun: Promise<unknown>, query: Query): ReturnType<typeof closableSession> {
  let isBegun = false;
  let isFirst = true;
  const start = begun.then(() => {
    isBegun = true;
  });
  // The failure is the rejection of the statements.
  start.catch(() => undefined);
  return closableSession({
    async all<R extends object>(sql: string, ...values: readonly SqlValue[]) {
      const isSent = isFirst;
      isFirst = false;
      if (!isSent && !isBegun) await start;
      const { rows } = await query(sql, values);
      await start;
      return rows as R[];
    },
    async run(sql, ...values) {
      isFirst = false;
      if (!isBegun) await start;
      return (await query(sql, values)).rowCount ?? 0;
    },
  });
}

/** Sends the statements of one turn of the event loop with one system call. The driver alone uses one for each statement. */
function sendTogether({ connection: { stream } }: pg.Client): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** @param error of the first statement that failed; later statements fail because of it */
async function endingOf(
  client: pg.ClientBase,
  error: unknown,
  isCommitting: boolean,
): Promise<Exclude<Ending<never>, { kind: 'committed' }>> {
  const kind = kindOf(error);
  // Without a response to COMMIT it is not known whether the changes are stored. Only the sender can repeat its request.
  if (kind === 'connection')
    return { kind: isCommitting ? 'unavailable' : 'repeatable', error, isBroken: true };
  const isBroken = !(await isRolledBack(client));
  if (kind === 'conflict') return { kind: 'repeatable', error, isBroken };
  return { kind: kind === 'overload' ? 'unavailable' : 'failed', error, isBroken };
}

function isRolledBack(client: pg.ClientBase): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}

/** PostgreSQL cannot store U+0000 in a text. Like a lone surrogate, it becomes U+FFFD. In JSON it is escaped already. */
function storable(value: SqlValue): SqlValue {
  return typeof value === 'string' && value.includes('\u0000') ? value.replaceAll('\u0000', '\uFFFD') : value;
}
