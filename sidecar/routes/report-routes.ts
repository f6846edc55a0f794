import type { Request } from 'express';
import { cardOf } from '../../core/manifest/card.ts';
import { censusReportOf } from '../../core/census/census-report.ts';
import { matrixOf } from '../../core/egress/matrix.ts';
import { exploredEgressOf } from '../../core/audit/explored-egress.ts';
import { exploreOf } from '../../core/audit/explore.ts';
import { align } from '../../core/gap/align.ts';
import { compliantOfReport } from '../../core/observation/compliant-of.ts';
import type { Verdict } from '../../core/shapes/verdict.ts';
import { ref } from '../../core/untrusted/json-schema.ts';
import type { Operation } from '../../core/openapi/operation.ts';
import { ringUsageReport } from '../../core/behavior/entry-usage.ts';
import { costOfModels } from '../../core/egress/prices.ts';
import type { ModelUsage } from '../../core/shapes/usage.ts';
import { agentUsage } from '../../core/usage/process-usage.ts';
import { probeAgentUsage } from '../../probe/agent.ts';
import { Problem } from '../../runtime/problem.ts';
import type { SidecarRoute } from '../access.ts';
import { egressSetupOf, type SidecarContext } from '../context.ts';
import { hasListened, type Assessment } from '../report/assessor.ts';
import { SharedRun } from '../report/shared-run.ts';

/** What a report does after the end of the agent, for the client that runs the agent. */
const ENDED = {
  agent: {
    schema: { type: 'string', enum: ['ended'] },
    description:
      '`ended`: the agent has ended. Its last calls are waited for, and its endpoints are reported as they last responded, or not at all if it never listened; `listened` is false then.',
  },
} as const;

const view = (only: string, description: string): NonNullable<Operation['query']> => ({
  view: { schema: { type: 'string', enum: [only] }, description: `\`${only}\`: ${description}` },
});

const oneOf = (description: string, ...schemas: string[]): Operation['responses'] => ({
  200: { description, schema: { anyOf: schemas.map(ref) } },
});

const GAP: Operation = {
  id: 'getGapReport',
  query: { ...ENDED, ...view('alignment', 'the issues as declared and observed values.') },
  responses: oneOf('The report.', 'GapReport', 'AlignmentReport'),
};

const EXPLORE: Operation = {
  id: 'exploreAgent',
  query: { ...ENDED, ...view('matrix', 'declared, reported and observed items side by side.') },
  responses: oneOf('The parts of the agent.', 'ExploreReport', 'MatrixReport'),
};

const USAGE: Operation = {
  id: 'getUsage',
  responses: oneOf('The usage.', 'AgentUsageReport', 'RingUsageReport'),
};

/** Reports about the agent's declared and observed state; each response names its data source. */
export function reportRoutes(context: SidecarContext): SidecarRoute[] {
  const { audit, config, manifest, stopping } = context;
  const usage = new SharedRun(() => probeAgentUsage(config.UPSTREAM_URL, stopping.signal));
  return [
    {
      method: 'GET',
      path: '/gap',
      access: 'local',
      summary:
        'Returns the verdict `compliant {status, reason, message}`, score, grade, source, issues and `evidence {shown, declared, reported, items[]}`, the evidence for manifest declarations in the last 24 hours. `llm {status, model, analysedAt, reason}` is the state of the LLM analysis. `census {state, reason, unseenEgress[], unexplainedOpens}` is the state of the census, with null instead of findings if it does not run. `?view=alignment`: the issues as declared and observed values.',
      operation: GAP,
      handlers: [
        async (request, response) => {
          const isAlignment = has(request, 'view', 'alignment');
          const assessment = await assess(context, request);
          const { gap, evidence, llm, manifest, facts } = assessment;
          const census = censusReportOf(context.census.state, facts.egress);
          response.json(
            isAlignment
              ? { source: gap.source, ...align(manifest, facts) }
              : {
                  compliant: compliantIn(context, assessment),
                  ...{ ...gap, evidence, llm, census },
                  ...(has(request, 'agent', 'ended') && { listened: hasListened(facts) }),
                },
          );
        },
      ],
    },
    exploreRoute(context),
    {
      method: 'GET',
      path: '/usage',
      access: 'local',
      summary:
        "Returns tokens by model and their cost: the agent's own report, or the sum of its `model` events if that is larger, else the totals of the audit ring. The report is that of one process: with several worker processes the sum of the events is larger, and `processReport` has the totals of the report. `costUsd`: of the models whose price is known, where cached tokens have the price of other prompt tokens; null: the price of no model is known.",
      operation: USAGE,
      handlers: [
        async (_request, response) => {
          const reported = await usage.join();
          const costOf = (models: readonly ModelUsage[]): number | null =>
            costOfModels(manifest.manifest, models);
          const { ring, withoutRequest, unknownWithoutRequest, reported: events } = audit;
          response.json(
            reported === null
              ? ringUsageReport(ring.newest(), { withoutRequest, unknownWithoutRequest, costOf })
              : agentUsage(reported, events, costOf),
          );
        },
      ],
    },
    cardRoute(context, '/capabilities', 'getCapabilities'),
    cardRoute(context, '/.well-known/agent-card.json', 'getAgentCard'),
  ];
}

function compliantIn({ audit }: SidecarContext, { facts, ...reports }: Assessment): Verdict {
  const policyState = facts.policy.state;
  return compliantOfReport({ ...reports, policyState, at: facts.at, denials: audit.recentDenials });
}

const exploreRoute = (context: SidecarContext): SidecarRoute => ({
  method: 'GET',
  path: '/explore',
  access: 'local',
  summary:
    "Returns the agent's components, the results of its endpoints, and declarations that are not checked. null: unknown. `egress {lanes[], connect, notRewritten[], census}`: the egress lanes, the mode of the CONNECT lane if it is on, the variables that the injector could not change, and the census. `?view=matrix`: `{rows: [{kind, name, declared, reported, observed, verdict}]}`, with the verdicts match, undeclared, unreported, never-seen, misreported and unknown.",
  operation: EXPLORE,
  handlers: [
    async (request, response) => {
      const isMatrix = has(request, 'view', 'matrix');
      const { manifest, health, gap, facts } = await assess(context, request);
      if (isMatrix) {
        response.json(matrixOf(manifest, facts));
        return;
      }
      const { EGRESS_CONNECT: connect } = context.config;
      const egress = {
        ...exploredEgressOf(facts, egressSetupOf(context)),
        ...(connect !== 'off' && { connect }),
      };
      response.json({ ...exploreOf(manifest, health, gap.source, facts), egress });
    },
  ],
});

const cardRoute = (context: SidecarContext, path: string, id: string): SidecarRoute => ({
  method: 'GET',
  path,
  access: 'open',
  summary: 'Returns the A2A agent card, derived from the manifest.',
  operation: { id, responses: { 200: { description: 'The agent card.', schema: 'AgentCard' } } },
  handlers: [(_request, response) => void response.json(cardOf(context.manifest.manifest))],
});

/** Milliseconds to wait for calls after the end of the agent, because its child processes may go on. */
const LAST_CALLS_MS = 1_000;

async function assess({ assessor, lanes }: SidecarContext, request: Request): Promise<Assessment> {
  if (!has(request, 'agent', 'ended')) return assessor.assess();
  await lanes?.egress.idle(LAST_CALLS_MS);
  return assessor.assessEnded();
}

/** Whether a parameter of the query has its only value; throws Problem 400 for another value. */
function has({ query }: Request, name: 'view' | 'agent', only: string): boolean {
  const value = query[name];
  if (value === undefined) return false;
  if (value === only) return true;
  throw new Problem(400, `${name} must be ${only} or absent`);
}
