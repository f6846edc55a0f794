import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyContract, historyHarnessOf } from '../../../testing/fleet/history-contract.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import { SqliteDatabase } from '../sqlite/sqlite-database.ts';
import { SqlStore } from './sql-store.ts';

historyContract('The SQLite store', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'history-'));
  const make = async () => {
    const database = new SqliteDatabase(directory);
    const clock = new ManualClock('2026-03-01T10:00:00.000Z');
    const store = new SqlStore({ database, clock, rateLimitSeconds: 10 });
    await store.start();
    return { database, store };
  };
  return historyHarnessOf(make, () => rmSync(directory, { recursive: true }));
});
