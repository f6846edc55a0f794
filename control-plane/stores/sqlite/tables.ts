import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { nextChangeAt } from '../../../core/observation/next-change.ts';
import type { ObservationStatus } from '../../../core/observation/observation.ts';
import type { Runtime } from '../../../core/observation/runtimes.ts';
import { MAX_NEW_INSTANCES } from '../../status/receive.ts';
import type { AgentKey, AgentRecord, Arrival, InstanceReport, ListQuery } from '../store.ts';
import { openDatabase } from './open-database.ts';

export type Tables = ReturnType<typeof openTables>;

/** Opens the database in `directory`. Every method runs a few statements; the caller handles transactions. */
export function openTables(directory: string) {
  const database = openDatabase(directory);
  return {
    database,
    agents: agentTable(database),
    reports: reportTable(database),
    newNames: newNameTable(database),
  };
}

type Row = Record<string, unknown>;

const COLUMNS = 'namespace, name, agent_id, source, runtime, status';

function agentTable(database: DatabaseSync) {
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
  const filters = (['namespace', 'phase', 'grade'] as const).filter((column) => query[column] !== undefined);
  const where = (conditions: string[]): string =>
    conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const texts = filters.map((column) => `${column} = ?`);
  const values = filters.map((column) => query[column] ?? null);
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

/** Maximum number of stored heartbeats per agent. */
const MAX_HEARTBEATS = 100;

/** The last report of each instance, and the last hundred heartbeats of each agent. */
function reportTable(database: DatabaseSync) {
  const putReport = database.prepare(`
    INSERT OR REPLACE INTO reports (namespace, name, instance, received_at, gap, health, usage, evidence, audit)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const putHeartbeat = database.prepare(
    'INSERT INTO heartbeats (namespace, name, instance, received_at, body) VALUES (?, ?, ?, ?, ?)',
  );
  const trim = database.prepare(`
    DELETE FROM heartbeats WHERE namespace = ?1 AND name = ?2 AND id <= (
      SELECT id FROM heartbeats WHERE namespace = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1 OFFSET ${MAX_HEARTBEATS})`);
  const get = database.prepare(`
    SELECT received_at, gap, health, usage, evidence, audit FROM reports WHERE namespace = ? AND name = ? AND instance = ?`);
  const keepOnly = database.prepare(`
    DELETE FROM reports WHERE namespace = ? AND name = ? AND instance NOT IN (SELECT value FROM json_each(?))`);
  return {
    /** `listed`: the instances in the agent's status. Reports of other instances are deleted, so they do not accumulate. */
    put({ namespace, name, instance, heartbeat, at }: Arrival, listed: readonly string[]): void {
      const { gap, health, usage, evidence, audit } = heartbeat;
      const received = at.toISOString();
      const parts = [gap, health, usage, evidence, audit];
      const texts = parts.map((value) => (value === null ? null : JSON.stringify(value)));
      putReport.run(namespace, name, instance, received, ...texts);
      putHeartbeat.run(namespace, name, instance, received, JSON.stringify(heartbeat));
      trim.run(namespace, name);
      keepOnly.run(namespace, name, JSON.stringify(listed));
    },
    get({ namespace, name }: AgentKey, instance: string): InstanceReport | null {
      const row = get.get(namespace, name, instance);
      if (row === undefined) return null;
      const parsed = (column: string): unknown => JSON.parse((row[column] as string | null) ?? 'null');
      return {
        instance,
        receivedAt: row['received_at'] as string,
        gap: parsed('gap') as InstanceReport['gap'],
        health: parsed('health') as InstanceReport['health'],
        usage: parsed('usage') as InstanceReport['usage'],
        evidence: parsed('evidence') as InstanceReport['evidence'],
        audit: parsed('audit') as InstanceReport['audit'],
      };
    },
  };
}

/** Times when new instance names of an agent were accepted; as many as the limit needs. */
function newNameTable(database: DatabaseSync) {
  const get = database.prepare('SELECT accepted_at FROM new_names WHERE namespace = ? AND name = ?');
  const put = database.prepare('INSERT INTO new_names (namespace, name, accepted_at) VALUES (?, ?, ?)');
  const trim = database.prepare(`
    DELETE FROM new_names WHERE namespace = ?1 AND name = ?2 AND id <= (
      SELECT id FROM new_names WHERE namespace = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1 OFFSET ${MAX_NEW_INSTANCES})`);
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
