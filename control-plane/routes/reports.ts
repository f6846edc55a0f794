import type { Request, Response } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { InstanceReport } from '../stores/store.ts';
import { AGENT_QUERY, AGENT_RESPONSES, findAgent } from './find-agent.ts';
import { matching, readQuery } from './query.ts';
import { readRoute } from './read-route.ts';

/** Maximum length of the name of a pod or of a remote instance. */
const MAX_INSTANCE = 253;

const REPORT_QUERY = {
  ...AGENT_QUERY,
  instance: matching((raw) => raw !== '' && raw.length <= MAX_INSTANCE, {
    what: 'a valid instance name',
    schema: { minLength: 1, maxLength: MAX_INSTANCE },
    description: 'Name of the instance; default: the worst live instance.',
  }),
};

interface View {
  name: 'gap' | 'health' | 'egress' | 'usage';
  /** Operation id and schema of the response. */
  id: string;
  schema: string;
  summary: string;
  bodyOf: (report: InstanceReport) => object | null;
}

const VIEWS: readonly View[] = [
  {
    name: 'gap',
    id: 'getGapReport',
    schema: 'StoredGapReport',
    summary:
      'The last gap report, with `evidence {shown, declared, reported, items[]}` and `audit {declared, proved, failed[], suppressions[]}` (null if the sender reports none), `receivedAt` and `instance`.',
    bodyOf: ({ gap, evidence, audit }) => ({ ...gap, evidence, audit }),
  },
  {
    name: 'health',
    id: 'getHealthReport',
    schema: 'StoredHealthReport',
    summary: 'The last health report, with `receivedAt` and `instance`.',
    bodyOf: (report) => report.health,
  },
  {
    name: 'egress',
    id: 'getEgress',
    schema: 'StoredEgress',
    summary:
      'What the egress lanes and the census observed, as `egress`, with `receivedAt` and `instance`: the summary of the agent, and `rows[]` (the matrix of the manifest, the report and the observation), `unseen[]`, `notRewritten[]` and `census {state, reason}`. null: the last heartbeat had none. The store kubernetes keeps the lists of the worst instance in memory, so they are absent after a restart and in other replicas until its next heartbeat.',
    bodyOf: ({ egress }) => ({ egress }),
  },
  {
    name: 'usage',
    id: 'getUsage',
    schema: 'StoredUsage',
    summary:
      'The last usage window, with `receivedAt` and `instance`. 404 if the last heartbeat had no usage window.',
    bodyOf: (report) => report.usage,
  },
];

/** The last report of an agent's worst live instance, or of `?instance=`. */
export function reportRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  return VIEWS.map(({ name, id, schema, summary, bodyOf }) =>
    readRoute(`/api/v1/agents/:name/${name}`, {
      summary,
      operation: {
        id,
        query: REPORT_QUERY,
        responses: { 200: { description: 'The report.', schema }, ...AGENT_RESPONSES },
      },
      read: (request, response) => lastReport(request, response, bodyOf),
    }),
  );

  async function lastReport(request: Request, response: Response, bodyOf: View['bodyOf']): Promise<object> {
    const agent = await findAgent(request, response, context);
    const { instance } = readQuery(request, REPORT_QUERY);
    const report = await context.store.report(agent, instance ?? null, context.clock.now());
    if (report === null)
      throw new Problem(
        404,
        instance === undefined
          ? `no heartbeat received from ${agent.name} yet`
          : `no heartbeat received from instance ${instance} of ${agent.name}`,
      );
    const body = bodyOf(report);
    if (body === null) throw new Problem(404, `the last heartbeat of ${report.instance} has no usage window`);
    return { ...body, receivedAt: report.receivedAt, instance: report.instance };
  }
}
