import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentLogger, type LogFields } from '../../../runtime/logger.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import { SqliteDatabase } from '../sqlite/sqlite-database.ts';
import { logFailures } from './log-failures.ts';
import type { SqlDatabase } from './sql-database.ts';

let directory: string;
let clock: ManualClock;
let database: SqlDatabase;
let log: [string, LogFields | undefined][];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agents-'));
  clock = new ManualClock('2026-03-01T10:00:00.000Z');
  log = [];
  const note = (message: string, fields?: LogFields) => void log.push([message, fields]);
  const logger = { ...silentLogger, error: note, warn: note, info: note };
  database = logFailures(new SqliteDatabase(directory), { clock, logger });
  await database.open();
});
afterEach(async () => {
  await database.close();
  rmSync(directory, { recursive: true });
});

const nothing = () => Promise.resolve();

/** Sends more transactions than may wait; returns the rejections. */
async function overload(): Promise<unknown[]> {
  const sent = Array.from({ length: 2_050 }, () => database.transaction(nothing));
  const outcomes = await Promise.allSettled(sent);
  return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
}

test('logs an overload once, and at its end how many requests failed', async () => {
  const overloaded = ['database requests failing', { error: expect.stringContaining('already wait') }];
  const rejected = await overload();
  expect(rejected).toHaveLength(50);
  for (const each of rejected) {
    expect(each).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
    // The error handler would log a cause for each request.
    expect(each).not.toHaveProperty('cause');
  }
  clock.advance(4_000);
  await overload();
  expect(log).toEqual([overloaded]);
  clock.advance(5_000);
  await database.read(nothing);
  expect(log.slice(1)).toEqual([['database requests succeed again', { failures: 100 }]]);
  await overload();
  expect(log.slice(2)).toEqual([overloaded]);
});

test('leaves an error of the work as it is', async () => {
  const bug = new Error('a bug');
  await expect(database.transaction(() => Promise.reject(bug))).rejects.toBe(bug);
  expect(log).toEqual([]);
});
