import { MAX_NEW_INSTANCES } from '../../status/receive.ts';
import type { AgentKey } from '../store.ts';
import type { SqlSession } from './sql-database.ts';

const OF_AGENT = 'SELECT accepted_at AS ms FROM new_names WHERE namespace = $1 AND name = $2';
const ADD = 'INSERT INTO new_names (namespace, name, accepted_at) VALUES ($1, $2, $3)';
const TRIM = `
  DELETE FROM new_names WHERE namespace = $1 AND name = $2 AND id <= (
    SELECT id FROM new_names WHERE namespace = $1 AND name = $2 ORDER BY id DESC LIMIT 1 OFFSET ${MAX_NEW_INSTANCES})`;

/** Times when new instance names of an agent were accepted; as many as the limit needs. All replicas count them together. */
export const newNameTable = {
  /** Milliseconds. */
  async of(session: SqlSession, { namespace, name }: AgentKey): Promise<number[]> {
    return (await session.all<{ ms: number }>(OF_AGENT, namespace, name)).map(({ ms }) => ms);
  },
  async add(session: SqlSession, { namespace, name }: AgentKey, at: Date): Promise<void> {
    await Promise.all([session.run(ADD, namespace, name, at.getTime()), session.run(TRIM, namespace, name)]);
  },
};
