import type { Request, Response } from 'express';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { AgentRecord } from '../stores/store.ts';
import { listItemOf } from './agent-row.ts';
import { agentOrganisationOf } from '../../core/fleet/agent-organisation.ts';
import { MAX_ITEMS, type AgentOrganisation } from '../../core/shapes/agent-organisation.ts';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import { AGENT_QUERY, AGENT_RESPONSES, findAgent } from './find-agent.ts';
import { readRoute } from './read-route.ts';

/** Everything that is stored about one agent. */
export function agentDetailRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { organisation, clock, store } = context;
  return [
    readRoute('/api/v1/agents/:name', {
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
      read: async (request, response) => detailOf(await findAgent(request, response, context)),
    }),
    readRoute('/api/v1/agents/:name/organisation', {
      summary: `\`{namespace, agentName, allowed, compliant, organisation, policies: [{name, rules, excepted}], allows, declared: {models, tools, hosts, maxMonthlyUSD, maxTokensPerDay}, observed: {models, tools, hosts, tokensToday, costTodayUsd}}\`: what the Deny rules allow the agent (\`allows\`), what its manifest declares and what was observed. Models, tools and hosts are \`{items: [{name, breaks, undeclared}], total}\` with at most ${MAX_ITEMS} items. \`organisation\` is the result of the last judgement. null: not known.`,
      operation: {
        id: 'getAgentOrganisation',
        query: AGENT_QUERY,
        responses: {
          ...AGENT_RESPONSES,
          200: { description: 'The rules of the agent.', schema: 'AgentOrganisation' },
          404: 'There is no such agent.',
        },
      },
      read: agentOrganisation,
    }),
  ];

  async function agentOrganisation(request: Request, response: Response): Promise<AgentOrganisation> {
    const agent = await findAgent(request, response, context);
    const { namespace, name, status } = agent;
    const at = clock.now();
    const report = await store.report(agent, null, at);
    // The paths of the findings are those of the judged manifest.
    const hash = status.organisation?.manifestHash ?? status.manifestHash;
    const rules = organisation.rulesOf({ namespace, name }, hash, at);
    return agentOrganisationOf({ namespace, name, status, rows: report?.egress?.rows }, rules);
  }
}

function detailOf(agent: AgentRecord): AgentDetail {
  const { agentId, agentName, namespace, runtime, source, lastSeen } = listItemOf(agent);
  const { tokenHashes: _keys, proofTombstones: _removed, ...status } = agent.status;
  return { agentId, agentName, namespace, runtime, source, lastSeen, status };
}
