import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { SqlSession } from '../sql/sql-database.ts';
import { SqliteDatabase } from './sqlite-database.ts';

let directory: string;
let database: SqliteDatabase;
/** Reads only committed data. */
let other: DatabaseSync;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agents-'));
  database = new SqliteDatabase(directory);
  await database.open();
  other = new DatabaseSync(join(directory, 'control-plane.sqlite'), { readOnly: true });
});
afterEach(async () => {
  other.close();
  await database.close();
  rmSync(directory, { recursive: true });
});

const INSERT = 'INSERT INTO removals (namespace, name, removed_at) VALUES ($1, $2, $3)';
const insert = (session: SqlSession, name: string) => session.run(INSERT, 'team', name, 1);
const add = (name: string) => database.transaction((session) => insert(session, name));
const stored = (): unknown[] =>
  other
    .prepare('SELECT name FROM removals ORDER BY name')
    .all()
    .map((row) => row['name']);

test('transactions of one turn of the event loop share a commit, and resolve after it', async () => {
  const seen: unknown[] = [];
  const first = add('a').then(() => seen.push(stored()));
  const second = database.transaction(async (session) => {
    seen.push(stored());
    await insert(session, 'b');
  });
  await Promise.all([first, second.then(() => seen.push(stored()))]);
  expect(seen).toEqual([[], ['a', 'b'], ['a', 'b']]);
});

test('a transaction sees the changes of the transactions before it', async () => {
  const [, rows] = await Promise.all([
    add('a'),
    database.transaction((session) => session.all('SELECT name, removed_at AS at FROM removals')),
  ]);
  expect(rows).toEqual([{ name: 'a', at: 1 }]);
});

test('a transaction that rejects rolls back only its own changes', async () => {
  const bug = new Error('a bug');
  const outcomes = await Promise.allSettled([
    add('a'),
    database.transaction(async (session) => {
      await insert(session, 'b');
      throw bug;
    }),
    add('c'),
  ]);
  expect(outcomes).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: bug },
    { status: 'fulfilled', value: 1 },
  ]);
  expect(stored()).toEqual(['a', 'c']);
});

test('a statement that fails makes its transaction a 503, and no other', async () => {
  const twice = database.transaction((session) => Promise.all([insert(session, 'b'), insert(session, 'b')]));
  const outcomes = await Promise.allSettled([add('a'), twice, add('c')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  await expect(twice).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  expect(stored()).toEqual(['a', 'c']);
});

test('a commit that fails makes every transaction of its group a 503, and the next group works', async () => {
  const orphan = database.transaction(async (session) => {
    await session.run('PRAGMA defer_foreign_keys = ON');
    await session.run("INSERT INTO new_names (namespace, name, accepted_at) VALUES ('team', 'none', 1)");
  });
  const outcomes = await Promise.allSettled([add('a'), orphan, add('c')]);
  expect(outcomes).toMatchObject(Array.from({ length: 3 }, () => ({ reason: { status: 503 } })));
  expect(stored()).toEqual([]);
  await add('d');
  expect(stored()).toEqual(['d']);
});

test('any number of transactions that wait are run in their order', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `n-${String(index).padStart(3, '0')}`);
  const done: string[] = [];
  await Promise.all(names.map((name) => add(name).then(() => done.push(name))));
  expect(done).toEqual(names);
  expect(stored()).toEqual(names);
});

test('the number of transactions that wait is limited', async () => {
  const waiting = Array.from({ length: 2_000 }, () => database.transaction(() => Promise.resolve()));
  await expect(add('a')).rejects.toMatchObject({
    status: 503,
    cause: { message: '2000 transactions already wait for the database' },
  });
  await Promise.all(waiting);
  await add('b');
  expect(stored()).toEqual(['b']);
});

test('a statement after the end of its transaction is rejected', async () => {
  let kept: SqlSession | undefined;
  await database.transaction((session) => {
    kept = session;
    return Promise.resolve();
  });
  await expect(insert(kept!, 'late')).rejects.toThrow('the transaction has ended');
  expect(stored()).toEqual([]);
});

test('parameters may occur in any order, and several times', async () => {
  const rows = await database.transaction((session) =>
    session.all('SELECT $2 AS a, $1 AS b, $2 AS c, $3 AS d', 'one', 'two', null),
  );
  expect(rows).toEqual([{ a: 'two', b: 'one', c: 'two', d: null }]);
});

test('closing waits for the transactions, and later ones are 503', async () => {
  const last = add('a');
  const closing = database.close();
  await expect(add('b')).rejects.toMatchObject({ status: 503 });
  expect(database.unready()).toBe('the database is not open');
  await Promise.all([last, closing]);
  expect(stored()).toEqual(['a']);
});
