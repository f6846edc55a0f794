import type { AdminAction } from '../../../core/shapes/admin-action.ts';
import type { SqlSession } from './sql-database.ts';

/** Maximum number of stored actions. */
export const MAX_ACTIONS = 10_000;
/** Maximum number of stored requests with a wrong key, which count separately: anyone can send them. */
export const MAX_WRONG_KEYS = 1_000;

const ADD = `
  INSERT INTO admin_actions (at, action, address, agent_name, namespace, rule_id, status)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

const trim = (condition: string, max: number): string => `
  DELETE FROM admin_actions WHERE ${condition} AND id <= (
    SELECT id FROM admin_actions WHERE ${condition} ORDER BY id DESC LIMIT 1 OFFSET ${max})`;

const TRIM_ACTIONS = trim('status <> 403', MAX_ACTIONS);
const TRIM_WRONG_KEYS = trim('status = 403', MAX_WRONG_KEYS);

export async function addAction(session: SqlSession, action: Omit<AdminAction, 'id'>): Promise<void> {
  const { at, agentName, namespace, ruleId, status } = action;
  const subject = [agentName, namespace, ruleId];
  await session.run(ADD, Date.parse(at), action.action, action.address, ...subject, status);
  // No admin route responds with 403 to the right key.
  await session.run(status === 403 ? TRIM_WRONG_KEYS : TRIM_ACTIONS);
}

/** The newest first. */
export async function listActions(
  session: SqlSession,
  { limit, before }: { limit: number; before: number | null },
): Promise<AdminAction[]> {
  const rows = await session.all<Omit<AdminAction, 'at'> & { at: number }>(
    `SELECT id, at, action, address, agent_name AS "agentName", namespace, rule_id AS "ruleId", status
     FROM admin_actions WHERE id < $1 ORDER BY id DESC LIMIT $2`,
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  return rows.map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
}
