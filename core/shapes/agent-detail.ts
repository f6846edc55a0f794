import { row } from './agent-row.ts';
import { namedObject, type TypeOf } from './object.ts';
import { shownStatus } from './observation.ts';

export const agentDetail = namedObject('AgentDetail', 'Everything that is stored about one agent.', {
  ...{ agentId: row.agentId, agentName: row.agentName, namespace: row.namespace, runtime: row.runtime },
  ...{ source: row.source, lastSeen: row.lastSeen, status: shownStatus },
});

/** `GET /api/v1/agents/{name}`. */
export interface AgentDetail extends TypeOf<typeof agentDetail> {}
