import { nextChangeAt } from '../../../core/observation/next-change.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { compareKeys } from '../compare-keys.ts';
import type { AgentKey, AgentRecord, ListQuery } from '../store.ts';
import { inList, NAMESPACE } from './in-list.ts';
import type { SqlDatabase, SqlSession, SqlValue } from './sql-database.ts';

export interface AgentWrite {
  agent: AgentRecord;
  at: Date;
  /** The agent was not found in this transaction. The write fails if another transaction has added it meanwhile. */
  isNew: boolean;
  isHeartbeat?: boolean;
}

/** Workloads without a heartbeat after `before`. */
export interface Silence {
  before: Date;
  at: Date;
}

/** Identifies one state of an agent. */
export interface AgentVersion extends AgentKey {
  /** Milliseconds. */
  changedAt: number;
  version: string;
}

const SELECT = 'SELECT namespace, name, agent_id AS "agentId", source, runtime, status FROM agents';
const BY_KEY = 'WHERE namespace = $1 AND name = $2';

const INSERT = `
  INSERT INTO agents
    (namespace, name, runtime, status, phase, grade, due_at, changed_at, heartbeat_at, agent_id, source)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
const UPDATE = `
  UPDATE agents SET runtime = $3, status = $4, phase = $5, grade = $6, due_at = $7, changed_at = $8,
    heartbeat_at = COALESCE($9, heartbeat_at), revision = revision + 1 ${BY_KEY}`;

const DUE = 'SELECT namespace, name FROM agents WHERE due_at <= $1 ORDER BY due_at LIMIT $2';
/** The phase too: an agent with a long heartbeat interval is not silent yet. */
const SILENT = "source = 'sidecar' AND phase = 'Unknown' AND heartbeat_at <=";

const VERSIONS = `
  SELECT namespace, name, changed_at AS "changedAt", revision FROM agents
  WHERE changed_at >= $1 ORDER BY namespace, name`;

/** Reads one key of the index per namespace. DISTINCT would read every agent. */
const NAMESPACES = `
  WITH RECURSIVE found (namespace) AS (
    SELECT min(namespace) FROM agents
    UNION ALL
    SELECT (SELECT min(agents.namespace) FROM agents WHERE agents.namespace > found.namespace)
    FROM found WHERE found.namespace IS NOT NULL)
  SELECT namespace FROM found WHERE namespace IS NOT NULL`;

const ADD_REMOVAL = `
  INSERT INTO removals (namespace, name, removed_at) VALUES ($1, $2, $3)
  ON CONFLICT (namespace, name) DO UPDATE SET removed_at = excluded.removed_at`;
/** Without agents that were added again. */
const REMOVED = `
  SELECT namespace, name FROM removals WHERE removed_at >= $1 AND NOT EXISTS (
    SELECT 1 FROM agents WHERE agents.namespace = removals.namespace AND agents.name = removals.name)`;

/** The agents, and the keys of removed agents. */
export function agentTable(forUpdate: SqlDatabase['forUpdate']) {
  return {
    get: (session: SqlSession, { namespace, name }: AgentKey) =>
      one(session, `${SELECT} ${BY_KEY}`, namespace, name),
    /** Locks the agent until the end of the transaction, so that no change of another replica is lost. */
    lock: (session: SqlSession, { namespace, name }: AgentKey) =>
      one(session, `${SELECT} ${BY_KEY}${forUpdate}`, namespace, name),
    /** Locks the agent if its status changes at or before `at` without a heartbeat. */
    lockDue: (session: SqlSession, { namespace, name }: AgentKey, at: Date) =>
      one(session, `${SELECT} ${BY_KEY} AND due_at <= $3${forUpdate}`, namespace, name, at.getTime()),
    byName: (session: SqlSession, name: string) =>
      many(session, `${SELECT} WHERE name = $1 ORDER BY namespace`, name),
    /** The keys of `lockDue`, in the order in which every transaction locks several agents. */
    due: (session: SqlSession, at: Date, limit: number) => keys(session, DUE, at.getTime(), limit),
    silent: (session: SqlSession, before: Date) =>
      keys(session, `SELECT namespace, name FROM agents WHERE ${SILENT} $1`, before.getTime()),
    versionsSince,
    removedSince: (session: SqlSession, ms: number) => keys(session, REMOVED, ms),
    namespaces: async (session: SqlSession) =>
      (await session.all<Pick<AgentKey, 'namespace'>>(NAMESPACES)).map(({ namespace }) => namespace),
    put,
    page,
    remove: (session: SqlSession, key: AgentKey, at: Date) => remove(session, key, { at }),
    /** Removes the workload unless it has reported meanwhile. */
    removeSilent: (session: SqlSession, key: AgentKey, silence: Silence) => remove(session, key, silence),
    forgetRemovals: (session: SqlSession, before: Date) =>
      session.run('DELETE FROM removals WHERE removed_at < $1', before.getTime()),
  };
}

function put(session: SqlSession, { agent, at, isNew, isHeartbeat = false }: AgentWrite): Promise<number> {
  const { namespace, name, runtime, status } = agent;
  const values: SqlValue[] = [
    ...[namespace, name, runtime, JSON.stringify(status), status.phase, status.grade ?? null],
    ...[dueAt(status, at), at.getTime(), isHeartbeat ? at.getTime() : null],
  ];
  return isNew ? session.run(INSERT, ...values, agent.agentId, agent.source) : session.run(UPDATE, ...values);
}

/** The agents that were written at or after `ms`. */
async function versionsSince(session: SqlSession, ms: number): Promise<AgentVersion[]> {
  const rows = await session.all<Omit<AgentVersion, 'version'> & { revision: number }>(VERSIONS, ms);
  // The revision of an agent that was added again starts at zero.
  return rows.map(({ revision, ...row }) => ({ ...row, version: `${row.changedAt}.${revision}` }));
}

/** When the status changes without a heartbeat, in milliseconds; null: never. */
function dueAt(status: ObservationStatus, at: Date): number | null {
  const next = nextChangeAt(status, at, {});
  // One millisecond early, because the tokens of a day end exactly at midnight. But an agent is not due at the time of its write.
  return next === null ? null : Math.max(next.getTime() - 1, at.getTime() + 1);
}

/** False: there is no such agent. Its tokens, reports and history are deleted with it. */
async function remove(
  session: SqlSession,
  { namespace, name }: AgentKey,
  { before, at }: { before?: Date; at: Date },
): Promise<boolean> {
  const removed =
    before === undefined
      ? await session.run(`DELETE FROM agents ${BY_KEY}`, namespace, name)
      : await session.run(`DELETE FROM agents ${BY_KEY} AND ${SILENT} $3`, namespace, name, before.getTime());
  if (removed > 0) await session.run(ADD_REMOVAL, namespace, name, at.getTime());
  return removed > 0;
}

const FILTERS = ['phase', 'grade'] as const;

async function page(
  session: SqlSession,
  query: ListQuery,
): Promise<{ agents: AgentRecord[]; total: number }> {
  const filters = FILTERS.filter((column) => query[column] !== undefined);
  const conditions = filters.map((column, index) => `${column} = $${index + 1}`);
  const values: SqlValue[] = filters.map((column) => query[column] ?? null);
  const list = query.namespaces && inList(query.namespaces, values.length + 1);
  values.push(...(list?.values ?? []));
  const whereIn = (column: string): string[] =>
    list === null ? conditions : [...conditions, `${column} IN ${list.text}`];
  const [counted] = await session.all<{ total: number }>(
    `SELECT count(*) AS total FROM agents${whereOf(whereIn(NAMESPACE))}`,
    ...values,
  );
  if (query.after !== null) {
    conditions.push(`(namespace, name) > ($${values.length + 1}, $${values.length + 2})`);
    values.push(query.after.namespace, query.after.name);
  }
  const ordered = `${SELECT}${whereOf(whereIn('namespace'))} ORDER BY namespace, name LIMIT $${values.length + 1}`;
  return {
    agents: await many(session, ordered, ...values, query.limit),
    total: counted?.total ?? 0,
  };
}

const whereOf = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;

async function one(
  session: SqlSession,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<AgentRecord | null> {
  return (await many(session, sql, ...values))[0] ?? null;
}

async function many(
  session: SqlSession,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<AgentRecord[]> {
  const rows = await session.all<Omit<AgentRecord, 'status'> & { status: string }>(sql, ...values);
  return rows.map((row) => ({
    ...{ ...row, heartbeatSeconds: null, status: JSON.parse(row.status) as ObservationStatus },
  }));
}

async function keys(session: SqlSession, sql: string, ...values: readonly SqlValue[]): Promise<AgentKey[]> {
  return (await session.all<AgentKey>(sql, ...values)).sort(compareKeys);
}
