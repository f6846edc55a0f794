import type { Actor } from '../../../core/shapes/actor.ts';
import type { AdminAction } from '../../../core/shapes/admin-action.ts';
import type { SqlSession } from './sql-database.ts';

/** Maximum number of stored actions. */
export const MAX_ACTIONS = 10_000;
/** Maximum number of stored refused requests (403), which count separately: anyone can send them. */
export const MAX_WRONG_KEYS = 1_000;

const ADD = `
  INSERT INTO admin_actions (at, action, address, agent_name, namespace, rule_id, status, actor)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

const trim = (condition: string, max: number): string => `
  DELETE FROM admin_actions WHERE ${condition} AND id <= (
    SELECT id FROM admin_actions WHERE ${condition} ORDER BY id DESC LIMIT 1 OFFSET ${max})`;

const TRIM_ACTIONS = trim('status <> 403', MAX_ACTIONS);
const TRIM_WRONG_KEYS = trim('status = 403', MAX_WRONG_KEYS);

export async function addAction(session: SqlSession, action: Omit<AdminAction, 'id'>): Promise<void> {
  const { at, agentName, namespace, ruleId, status, actor } = action;
  const subject = [agentName, namespace, ruleId];
  await session.run(
    ADD,
    Date.parse(at),
    action.action,
    action.address,
    ...subject,
    ...[status, actor && JSON.stringify(actor)],
  );
  await session.run(status === 403 ? TRIM_WRONG_KEYS : TRIM_ACTIONS);
}

/** The newest first. */
export async function listActions(
  session: SqlSession,
  { limit, before }: { limit: number; before: number | null },
): Promise<AdminAction[]> {
  const rows = await session.all<Omit<AdminAction, 'at' | 'actor'> & { at: number; actor: string | null }>(
    `SELECT id, at, action, address, agent_name AS "agentName", namespace, rule_id AS "ruleId", status, actor
     FROM admin_actions WHERE id < $1 ORDER BY id DESC LIMIT $2`,
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  return rows.map((row) => ({
    ...row,
    at: new Date(row.at).toISOString(),
    actor: row.actor === null ? null : (JSON.parse(row.actor) as Actor),
  }));
}
