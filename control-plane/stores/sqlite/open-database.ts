import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrate } from './migrations.ts';

const FILE = 'control-plane.sqlite';
/**
 * Pages of 4 KiB in the WAL before a commit copies them into the database. A heartbeat changes several pages, many of which the next
 * heartbeats change again. With SQLite's 1,000, 10,000 agents took a third more processor time (bench/README.md).
 */
const WAL_PAGES = 4_000;

/**
 * Opens the database in `directory` and creates the directory if missing. WAL with `synchronous = FULL`: a commit is on disk
 * when it returns. Throws an error that names DATA_DIR.
 */
export function openDatabase(directory: string): DatabaseSync {
  const path = join(directory, FILE);
  let database: DatabaseSync | undefined;
  try {
    // Not readable for other users, because it contains the reports of all agents.
    makeDirectory(directory);
    database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5_000 });
    database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${WAL_PAGES};`,
    );
    migrate(database);
    return database;
  } catch (error) {
    database?.close();
    throw new Error(`cannot open the database ${path} (DATA_DIR)`, { cause: error });
  }
}

/**
 * Creates a directory and its parents, without the option `recursive`. On a file system that rejects directories with ENOENT
 * (such as /proc), Node.js 24 retries forever with that option and handles no signals.
 */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) {
      makeDirectory(dirname(path));
      mkdirSync(path, { mode: 0o700 });
    } else if (code !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}
