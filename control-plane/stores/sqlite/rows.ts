import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { nextChangeAt } from '../../../core/observation/next-change.ts';
import type { ObservationStatus } from '../../../core/observation/observation.ts';
import type { Runtime } from '../../../core/observation/runtimes.ts';
import type { AgentKey, AgentRecord, ListQuery } from '../store.ts';

type Row = Record<string, unknown>;

const COLUMNS = 'namespace, name, agent_id, source, runtime, status';

/** The table `agents`. Every method runs one statement; the caller handles transactions. */
export function createAgentRows(database: DatabaseSync) {
  const get = database.prepare(`SELECT ${COLUMNS} FROM agents WHERE namespace = ? AND name = ?`);
  const byName = database.prepare(`SELECT ${COLUMNS} FROM agents WHERE name = ? ORDER BY namespace`);
  const due = database.prepare(`SELECT ${COLUMNS} FROM agents WHERE due_at <= ?`);
  const put = database.prepare(`
    INSERT INTO agents (${COLUMNS}, phase, grade, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (namespace, name) DO UPDATE SET
      runtime = excluded.runtime, status = excluded.status, phase = excluded.phase, grade = excluded.grade,
      due_at = excluded.due_at`);
  const remove = database.prepare('DELETE FROM agents WHERE namespace = ? AND name = ?');
  return {
    get: ({ namespace, name }: AgentKey) => agentOf(get.get(namespace, name)),
    byName: (name: string) => agentsOf(byName, name),
    /** Agents whose status changes at or before `at` without a heartbeat. */
    due: (at: Date) => agentsOf(due, at.getTime()),
    put(agent: AgentRecord, at: Date): void {
      const { namespace, name, agentId, source, runtime, status } = agent;
      const text = JSON.stringify(status);
      const columns = [status.phase, status.grade ?? null, dueAt(status, at)];
      put.run(namespace, name, agentId, source, runtime, text, ...columns);
    },
    delete: ({ namespace, name }: AgentKey) => remove.run(namespace, name).changes > 0,
    page: (query: ListQuery) => pageOf(database, query),
  };
}

function pageOf(database: DatabaseSync, query: ListQuery): { agents: AgentRecord[]; total: number } {
  const filters: [string, SQLInputValue][] = [];
  if (query.namespace !== undefined) filters.push(['namespace = ?', query.namespace]);
  if (query.phase !== undefined) filters.push(['phase = ?', query.phase]);
  if (query.grade !== undefined) filters.push(['grade = ?', query.grade]);
  const where = (conditions: string[]): string =>
    conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const texts = filters.map(([text]) => text);
  const values = filters.map(([, value]) => value);
  const counted = database.prepare(`SELECT count(*) AS total FROM agents ${where(texts)}`).get(...values);
  const after = query.after === null ? [] : [query.after.namespace, query.after.name];
  const resumed = query.after === null ? texts : [...texts, '(namespace, name) > (?, ?)'];
  const page = database.prepare(
    `SELECT ${COLUMNS} FROM agents ${where(resumed)} ORDER BY namespace, name LIMIT ?`,
  );
  return { agents: agentsOf(page, ...values, ...after, query.limit), total: Number(counted?.['total']) };
}

function agentsOf(statement: StatementSync, ...values: SQLInputValue[]): AgentRecord[] {
  return statement.all(...values).flatMap((row) => agentOf(row) ?? []);
}

function agentOf(row: Row | undefined): AgentRecord | null {
  if (row === undefined) return null;
  return {
    namespace: row['namespace'] as string,
    name: row['name'] as string,
    agentId: row['agent_id'] as string,
    source: row['source'] as AgentRecord['source'],
    runtime: row['runtime'] as Runtime,
    heartbeatSeconds: null,
    status: JSON.parse(row['status'] as string) as ObservationStatus,
  };
}

/** When the status changes without a heartbeat; null: never. */
function dueAt(status: ObservationStatus, at: Date): number | null {
  const next = nextChangeAt(status, at, {});
  // One millisecond early, because the tokens of a day end exactly at midnight.
  return next === null ? null : next.getTime() - 1;
}
