import type { Request } from 'express';
import { cardOf } from '../../core/card/card.ts';
import { exploreOf } from '../../core/explore/explore.ts';
import { align } from '../../core/gap/align.ts';
import { ringUsageReport } from '../../core/usage/ring-usage.ts';
import { probeAgentUsage } from '../../probe/agent.ts';
import type { Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import type { SidecarContext } from '../context.ts';
import { SharedRun } from '../report/shared-run.ts';

/** What the agent declares and does; each answer says where it knows it from. */
export function reportRoutes(context: SidecarContext): Route[] {
  const { assessor, config, audit, manifest } = context;
  const usageProbe = new SharedRun(() => probeAgentUsage(config.UPSTREAM_URL, context.stopping.signal));
  return [
    {
      method: 'GET',
      path: '/gap',
      summary:
        'Score, grade, source, issues, and `evidence {shown, declared, reported, items[]}`: what of the manifest was shown in the last 24 hours. `?view=alignment`: the issues as declared against observed.',
      handlers: [
        async (request, response) => {
          const isAlignment = viewOf(request) === 'alignment';
          const assessment = await assessor.assess();
          const { gap, evidence } = assessment;
          response.json(
            isAlignment
              ? { source: gap.source, ...align(assessment.manifest, assessment.facts) }
              : { ...gap, evidence },
          );
        },
      ],
    },
    {
      method: 'GET',
      path: '/explore',
      summary:
        'What the agent is made of, what its endpoints answered, and what is declared but not checked. null: not known.',
      handlers: [
        async (_request, response) => {
          const { manifest, health, gap, facts } = await assessor.assess();
          response.json(exploreOf(manifest, health, gap.source, facts));
        },
      ],
    },
    {
      method: 'GET',
      path: '/usage',
      summary: "Tokens by model: the agent's own report, else what the audit ring counted.",
      handlers: [
        async (_request, response) => {
          const reported = await usageProbe.join();
          response.json(reported ?? ringUsageReport(audit.ring.newest(), audit.withoutRequest));
        },
      ],
    },
    ...['/capabilities', '/.well-known/agent-card.json'].map((path): Route => ({
      method: 'GET',
      path,
      summary: 'The A2A agent card that follows from the manifest.',
      handlers: [(_request, response) => void response.json(cardOf(manifest.manifest))],
    })),
  ];
}

function viewOf(request: Request): 'score' | 'alignment' {
  const { view } = request.query;
  if (view === undefined) return 'score';
  if (view === 'alignment') return 'alignment';
  throw new Problem(400, 'view must be alignment, or left out');
}
