import { statusOf } from '../../../core/observation/status-of.ts';
import type { agentTable } from './agent-table.ts';
import { recordHistory } from './history-tables.ts';
import type { SqlSession } from './sql-database.ts';

/** Maximum number of agents in one transaction, so that heartbeats do not wait long for their locks. */
const BATCH = 100;

/**
 * Writes the status changes that time alone causes, such as of silent agents, for one batch of agents. True: more agents may be
 * due.
 */
export async function ageAgents(
  session: SqlSession,
  agents: ReturnType<typeof agentTable>,
  at: Date,
): Promise<boolean> {
  const due = await agents.due(session, at, BATCH);
  for (const key of due) {
    const agent = await agents.lockDue(session, key, at);
    if (agent === null) continue;
    const status = statusOf(agent.status, at, { hasStarted: agent.source === 'remote' });
    await agents.put(session, { agent: { ...agent, status }, at, isNew: false });
    await recordHistory(session, { key, before: agent.status, after: status, at, point: null });
  }
  return due.length === BATCH;
}
