import { SqlStore, type SqlStoreOptions } from '../sql/sql-store.ts';
import { SqliteDatabase } from './sqlite-database.ts';

export interface SqliteStoreOptions extends SqlStoreOptions {
  /** Directory of the database file; created if missing. */
  directory: string;
}

/** The embedded store. */
export class SqliteStore extends SqlStore {
  constructor({ directory, ...options }: SqliteStoreOptions) {
    super({ ...options, database: new SqliteDatabase(directory) });
  }
}
