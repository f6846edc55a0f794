import type { Request, Response } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { InstanceReport } from '../stores/store.ts';
import { findAgent } from './find-agent.ts';
import { matching, readQuery } from './query.ts';

/** The name of a pod or of a remote instance. Longer names are never stored. */
const instanceReader = matching((raw) => raw !== '' && raw.length <= 253, 'a valid instance name');

type View = (report: InstanceReport) => object | null;

/** The last report of an agent's worst live instance, or of `?instance=`. */
export function reportRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const serve = (name: 'gap' | 'health' | 'usage', view: View, summary: string): ControlPlaneRoute => ({
    method: 'GET',
    path: `/api/v1/agents/:name/${name}`,
    access: 'admin',
    summary,
    handlers: [(request: Request, response: Response) => sendReport(request, response, view)],
  });
  return [
    serve(
      'gap',
      ({ gap, evidence, audit }) => ({ ...gap, evidence, audit }),
      'The last gap report, with `evidence {shown, declared, reported, items[]}` and `audit {declared, proved, failed[], suppressions[]}` (null if the sender reports none), `receivedAt` and `instance`.',
    ),
    serve('health', (report) => report.health, 'The last health report, with `receivedAt` and `instance`.'),
    serve(
      'usage',
      (report) => report.usage,
      'The last usage window, with `receivedAt` and `instance`. 404 if the last heartbeat had no usage window.',
    ),
  ];

  async function sendReport(request: Request, response: Response, view: View): Promise<void> {
    const agent = await findAgent(request, context);
    const { instance } = readQuery(request, { instance: instanceReader });
    const report = await context.store.report(agent, instance ?? null, context.clock.now());
    if (report === null)
      throw new Problem(
        404,
        instance === undefined
          ? `no heartbeat received from ${agent.name} yet`
          : `no heartbeat received from instance ${instance} of ${agent.name}`,
      );
    const body = view(report);
    if (body === null) throw new Problem(404, `the last heartbeat of ${report.instance} has no usage window`);
    response.json({ ...body, receivedAt: report.receivedAt, instance: report.instance });
  }
}
