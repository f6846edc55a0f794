import { row } from './agent-row.ts';
import { named } from './field.ts';
import { object, type TypeOf } from './object.ts';
import { shownStatus } from './observation.ts';

const detail = object('Everything that is stored about one agent.', {
  ...{ agentId: row.agentId, agentName: row.agentName, namespace: row.namespace, runtime: row.runtime },
  ...{ source: row.source, lastSeen: row.lastSeen, status: shownStatus },
});

/** `GET /api/v1/agents/{name}`. */
export interface AgentDetail extends TypeOf<typeof detail> {}
export const agentDetail = named('AgentDetail', detail);
