import type { AdminAction } from '../history.ts';
import type { Row, SqlSession } from './sql-database.ts';

/** Maximum number of stored actions. */
export const MAX_ACTIONS = 10_000;

const ADD = `
  INSERT INTO admin_actions (at, action, address, agent_name, namespace, rule_id, status)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

/** By id: constant time, unlike counting. A rolled back transaction can leave a gap, which only lowers the number. */
const TRIM = `DELETE FROM admin_actions WHERE id <= (SELECT max(id) FROM admin_actions) - ${MAX_ACTIONS}`;

export async function addAction(session: SqlSession, action: Omit<AdminAction, 'id'>): Promise<void> {
  const { at, agentName, namespace, ruleId, status } = action;
  const subject = [agentName, namespace, ruleId];
  await session.run(ADD, Date.parse(at), action.action, action.address, ...subject, status);
  await session.run(TRIM);
}

/** The newest first. */
export async function listActions(
  session: SqlSession,
  { limit, before }: { limit: number; before: number | null },
): Promise<AdminAction[]> {
  const rows = await session.all(
    `SELECT id, at, action, address, agent_name, namespace, rule_id, status FROM admin_actions
     WHERE id < $1 ORDER BY id DESC LIMIT $2`,
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  return rows.map(actionOf);
}

function actionOf(row: Row): AdminAction {
  return {
    id: Number(row['id']),
    at: new Date(Number(row['at'])).toISOString(),
    action: row['action'] as string,
    address: row['address'] as string,
    agentName: row['agent_name'] as string | null,
    namespace: row['namespace'] as string | null,
    ruleId: row['rule_id'] as string | null,
    status: Number(row['status']),
  };
}
