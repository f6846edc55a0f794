import type { DatabaseSync } from 'node:sqlite';
import { MAX_NEW_NAMES } from '../../status/receive.ts';
import type { AgentKey } from '../store.ts';

/** Times when new instance names of an agent were accepted; as many as the limit needs. */
export function createNewNameRows(database: DatabaseSync) {
  const get = database.prepare('SELECT accepted_at FROM new_names WHERE namespace = ? AND name = ?');
  const put = database.prepare('INSERT INTO new_names (namespace, name, accepted_at) VALUES (?, ?, ?)');
  const trim = database.prepare(`
    DELETE FROM new_names WHERE namespace = ?1 AND name = ?2 AND id <= (
      SELECT id FROM new_names WHERE namespace = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1 OFFSET ${MAX_NEW_NAMES})`);
  return {
    /** Milliseconds. */
    of: ({ namespace, name }: AgentKey): number[] =>
      get.all(namespace, name).map((row) => Number(row['accepted_at'])),
    add({ namespace, name }: AgentKey, at: Date): void {
      put.run(namespace, name, at.getTime());
      trim.run(namespace, name);
    },
  };
}
