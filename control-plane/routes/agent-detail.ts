import type { Request, Response } from 'express';
import type { ObservationStatus } from '../../core/observation/observation.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { AgentRecord } from '../stores/store.ts';
import { listItemOf } from './agent-row.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { AGENT_QUERY, AGENT_RESPONSES, findAgent } from './find-agent.ts';

/** `GET /api/v1/agents/{name}`. */
interface AgentDetail extends Pick<
  AgentRow,
  'agentId' | 'agentName' | 'namespace' | 'runtime' | 'source' | 'lastSeen'
> {
  /** Without the hashes of keys, and without the records of removed proofs, which only senders need. */
  status: Omit<ObservationStatus, 'tokenHashes' | 'proofTombstones'>;
}

/** Everything that is stored about one agent. */
export function agentDetailRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/agents/:name',
      access: 'admin',
      summary:
        '`{agentId, agentName, namespace, runtime, source, lastSeen, status}`. `status` has the members of the status of an AgentObservation, without `tokenHashes` and `proofTombstones`.',
      operation: {
        id: 'getAgent',
        query: AGENT_QUERY,
        responses: {
          ...AGENT_RESPONSES,
          200: { description: 'The agent with its whole status.', schema: 'AgentDetail' },
          404: 'There is no such agent.',
        },
      },
      handlers: [
        async (request: Request, response: Response) => {
          response.json(detailOf(await findAgent(request, context)));
        },
      ],
    },
  ];
}

function detailOf(agent: AgentRecord): AgentDetail {
  const { agentId, agentName, namespace, runtime, source, lastSeen } = listItemOf(agent);
  const { tokenHashes: _keys, proofTombstones: _removed, ...status } = agent.status;
  return { agentId, agentName, namespace, runtime, source, lastSeen, status };
}
