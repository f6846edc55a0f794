import type { Request, Response } from 'express';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { AgentRecord } from '../stores/store.ts';
import { listItemOf } from './agent-row.ts';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import { AGENT_QUERY, AGENT_RESPONSES, findAgent } from './find-agent.ts';

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
