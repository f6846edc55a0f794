import type { AuditHead, AuditLog } from '../../../core/shapes/audit-log.ts';
import { startOf } from '../../../core/fleet/steps.ts';
import type { AgentKey } from '../store.ts';
import type { SqlSession } from './sql-database.ts';

/** The table of the heads of audit logs, for SQLite and PostgreSQL. Heads outlive their agents, as the events do. */
export const AUDIT_HEAD_TABLE = `
  -- The last head of each chain in each UTC hour. hour, received_at: milliseconds.
  CREATE TABLE audit_head (
    namespace   TEXT_KEY NOT NULL,
    agent       TEXT_KEY NOT NULL,
    chain       TEXT_KEY NOT NULL,
    hour        BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    -- AuditLog as JSON.
    body        TEXT NOT NULL,
    PRIMARY KEY (namespace, agent, chain, hour)
  );
  CREATE INDEX audit_head_by_agent ON audit_head (namespace, agent, received_at);
  CREATE INDEX audit_head_by_time ON audit_head (received_at);
`;

/** Another head for the same sequence would hide that lines were rewritten, so the first one stays. */
const PUT = `
  INSERT INTO audit_head (namespace, agent, chain, hour, sequence, received_at, body)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (namespace, agent, chain, hour) DO UPDATE SET
    sequence = excluded.sequence, received_at = excluded.received_at, body = excluded.body
  WHERE excluded.sequence > audit_head.sequence`;

const LIST = `
  SELECT received_at AS "receivedAt", body FROM audit_head WHERE namespace = $1 AND agent = $2
  ORDER BY received_at DESC, chain, hour DESC LIMIT $3`;

/** Stores the head of a heartbeat that arrived at `at`. */
export function putAuditHead(
  session: SqlSession,
  { namespace, name }: AgentKey,
  { log, at }: { log: AuditLog; at: Date },
): Promise<number> {
  const hour = startOf('hour', at).getTime();
  const values = [log.sequence, at.getTime(), JSON.stringify(log)];
  return session.run(PUT, namespace, name, log.chain, hour, ...values);
}

/** The newest first. */
export async function listAuditHeads(
  session: SqlSession,
  { namespace, name }: AgentKey,
  limit: number,
): Promise<AuditHead[]> {
  const rows = await session.all<{ receivedAt: number; body: string }>(LIST, namespace, name, limit);
  return rows.map(({ receivedAt, body }) => ({
    ...(JSON.parse(body) as AuditLog),
    receivedAt: new Date(receivedAt).toISOString(),
  }));
}

export function expireAuditHeads(session: SqlSession, before: Date): Promise<number> {
  return session.run('DELETE FROM audit_head WHERE received_at < $1', before.getTime());
}
