import type {
  AuditEventPage,
  AuditEventQuery,
  AuditEventStore,
  AuditPosition,
  AuditRow,
} from '../audit-events.ts';
import { listAuditHeads } from './audit-head-table.ts';
import { inList, NAMESPACE } from './in-list.ts';
import type { SqlDatabase, SqlSession, SqlValue } from './sql-database.ts';

/**
 * The tables of the audit events, for SQLite and PostgreSQL. They have no reference to the agents, because events outlive their
 * agents.
 */
export const AUDIT_EVENT_TABLES = `
  CREATE TABLE audit_event (
    id        SERIAL_KEY,
    namespace TEXT_KEY NOT NULL,
    agent     TEXT_KEY NOT NULL,
    uid       TEXT_KEY NOT NULL,
    -- Milliseconds.
    at        BIGINT NOT NULL,
    kind      TEXT NOT NULL,
    outcome   TEXT,
    -- The id of the person; null: not known.
    who       TEXT_KEY,
    -- The event as JSON.
    line      TEXT NOT NULL,
    UNIQUE (namespace, agent, uid)
  );
  CREATE INDEX audit_event_by_agent ON audit_event (agent, at, id);
  CREATE INDEX audit_event_by_who ON audit_event (who, at, id);
  -- With the columns of the other filters, so that a query that few events match does not read the lines of the others.
  CREATE INDEX audit_event_by_time ON audit_event (at, id, kind, outcome, namespace);

  -- The tools of each event, with its time, so that the index has the order of a list.
  CREATE TABLE audit_event_tool (
    event_id BIGINT NOT NULL REFERENCES audit_event (id) ON DELETE CASCADE,
    tool     TEXT_KEY NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (event_id, tool)
  );
  CREATE INDEX audit_event_tool_by_tool ON audit_event_tool (tool, at, event_id);
`;

const ADD = `
  INSERT INTO audit_event (namespace, agent, uid, at, kind, outcome, who, line)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (namespace, agent, uid) DO NOTHING`;

const ADD_TOOL = `
  INSERT INTO audit_event_tool (event_id, tool, at)
  SELECT id, $4, at FROM audit_event WHERE namespace = $1 AND agent = $2 AND uid = $3
  ON CONFLICT (event_id, tool) DO NOTHING`;

/** Characters of a value that an index has. An entry of an index of PostgreSQL has at most 2,704 bytes. */
const MAX_VALUE = 500;

/** The form in which a value is stored and searched. */
const keyOf = (value: string): string => value.slice(0, MAX_VALUE);

/** Number of new events. The caller limits the number of rows. */
async function addAuditEvents(session: SqlSession, rows: readonly AuditRow[]): Promise<number> {
  const added = await Promise.all(
    rows.map(({ key: { namespace, name }, uid, at, kind, outcome, user, line }) => {
      const who = user === null ? null : keyOf(user);
      return session.run(ADD, namespace, name, uid, at.getTime(), kind, outcome, who, line);
    }),
  );
  const isNew = rows.filter((_row, index) => added[index] === 1);
  await Promise.all(
    isNew.flatMap(({ key: { namespace, name }, uid, tools }) =>
      tools.map((tool) => session.run(ADD_TOOL, namespace, name, uid, keyOf(tool))),
    ),
  );
  return isNew.length;
}

type Found = AuditPosition & { line: string };

/** The newest first. */
async function findAuditEvents(session: SqlSession, query: AuditEventQuery): Promise<AuditEventPage> {
  // One more event than the limit shows whether there is a next page.
  const { text, values } = selectOf({ ...query, limit: query.limit + 1 });
  const found = await session.all<Found>(text, ...values);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const isMore = found.length > page.length && last !== undefined;
  return { lines: page.map(({ line }) => line), next: isMore ? { at: last.at, id: last.id } : null };
}

/** With a tool, the index of the tools has the order; without, an index of the events. */
function selectOf({ tool, namespaces, since, until, after, limit, ...query }: AuditEventQuery): {
  text: string;
  values: SqlValue[];
} {
  const [from, at, id] =
    tool === undefined
      ? ['audit_event AS event', 'event.at', 'event.id']
      : ['audit_event_tool AS tool CROSS JOIN audit_event AS event', 'tool.at', 'tool.event_id'];
  const conditions: string[] = tool === undefined ? [] : ['event.id = tool.event_id'];
  const values: SqlValue[] = [];
  const require = (left: string, operator: string, value: SqlValue | undefined): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`${left} ${operator} $${values.length}`);
  };
  require('tool.tool', '=', tool && keyOf(tool));
  require('event.agent', '=', query.agent);
  require('event.who', '=', query.user && keyOf(query.user));
  require('event.outcome', '=', query.outcome);
  require('event.kind', '=', query.kind);
  require(at, '>=', since?.getTime());
  require(at, '<', until?.getTime());
  if (after !== null) {
    conditions.push(`(${at}, ${id}) < ($${values.length + 1}, $${values.length + 2})`);
    values.push(after.at, after.id);
  }
  if (namespaces !== null) {
    const list = inList(namespaces, values.length + 1);
    conditions.push(`${NAMESPACE} IN ${list.text}`);
    values.push(...list.values);
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  values.push(limit);
  return {
    text: `SELECT ${at} AS at, ${id} AS id, event.line AS line FROM ${from} ${where}
      ORDER BY ${at} DESC, ${id} DESC LIMIT $${values.length}`,
    values,
  };
}

/** Number of events per transaction, so that other requests do not wait long. */
const EXPIRED_PER_STEP = 2_000;

const EXPIRE = `
  DELETE FROM audit_event WHERE id IN (
    SELECT id FROM audit_event WHERE at < $1 ORDER BY at LIMIT ${EXPIRED_PER_STEP})`;

/** Deletes some of the events before `before`. True: there may be more of them. */
export async function expireAuditEvents(session: SqlSession, before: Date): Promise<boolean> {
  return (await session.run(EXPIRE, before.getTime())) === EXPIRED_PER_STEP;
}

/** The audit events in a database that has the tables. */
export function auditEventsOf(database: SqlDatabase): AuditEventStore {
  return {
    add: (rows) => database.transaction((session) => addAuditEvents(session, rows)),
    find: (query) => database.read((session) => findAuditEvents(session, query)),
    heads: (key, limit) => database.read((session) => listAuditHeads(session, key, limit)),
  };
}
