import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrate } from './migrations.ts';

const FILE = 'control-plane.sqlite';

/**
 * Opens the database in `directory`, which is made where it is missing. WAL with FULL: what a commit has returned is
 * on the disk. Throws with a message that names DATA_DIR.
 */
export function openDatabase(directory: string): DatabaseSync {
  const path = join(directory, FILE);
  let database: DatabaseSync | undefined;
  try {
    // Not readable for others: it holds the reports of every agent.
    makeFolder(directory);
    database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5_000 });
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    migrate(database);
    return database;
  } catch (error) {
    database?.close();
    throw new Error(`the database ${path} (DATA_DIR) cannot be opened`, { cause: error });
  }
}

/**
 * Not by `recursive`: where a file system refuses a folder with ENOENT (as /proc does), Node.js 24 tries for ever, and
 * hears no signal meanwhile.
 */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) {
      makeFolder(dirname(path));
      mkdirSync(path, { mode: 0o700 });
    } else if (code !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

/** Runs `work` in one transaction: all of it is stored, or nothing when it throws. */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A commit that failed has already ended the transaction in some cases (a full disk).
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
