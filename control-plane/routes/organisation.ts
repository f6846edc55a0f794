import express, { type Request, type Response } from 'express';
import { MAX_JUDGED_BYTES } from '../../core/organisation/gate.ts';
import { checkOf } from '../../core/shapes/agent-policy.ts';
import { MAX_BROKEN } from '../../core/shapes/organisation.ts';
import { Problem } from '../../runtime/problem.ts';
import { callerOf } from '../auth/caller.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { Organisation } from '../organisation/organisation.ts';
import type { LiveFleet } from '../live/fleet.ts';

const RETRY = { 'retry-after': '10' };

/** The rules of the organisation, and the judgement of a manifest before its agent starts. */
export function organisationRoutes(
  { organisation, clock }: ControlPlaneContext,
  live: () => LiveFleet,
): ControlPlaneRoute[] {
  const body = express.raw({ limit: MAX_JUDGED_BYTES, type: () => true });
  return [
    {
      method: 'PUT',
      path: '/api/v1/manifest',
      access: 'bearer',
      summary: `Body: the manifest as YAML, at most 64 KiB. \`{manifestHash, allowed, findings[], organisation}\`: whether the rules of the organisation allow the sender to start with it. \`allowed\` is null while the rules are not known. \`findings\` has at most ${MAX_BROKEN} entries. 400 for a manifest that is not valid, 413 above 64 KiB, 503 with \`Retry-After\` if it cannot be parsed in two seconds.`,
      operation: {
        id: 'putManifest',
        responses: {
          200: { description: 'The judgement.', schema: 'ManifestJudgement' },
          400: 'The manifest is not valid; `errors` has its problems.',
          413: 'More than 64 KiB.',
          503: { description: 'Try again.', headers: { 'Retry-After': 'Seconds to wait.' } },
        },
      },
      handlers: [body, putManifest],
    },
    {
      method: 'GET',
      path: '/api/v1/organisation',
      access: 'admin',
      summary:
        '`{policies: [{name, rules: [{id, action, severity, check, broken}]}], invalid: [{policy, reason}]}`: the rules of the organisation, with the number of agents that break each. 503 while the rules are not known.',
      operation: {
        id: 'getOrganisation',
        responses: {
          200: { description: 'The rules.', schema: 'OrganisationRules' },
          503: { description: 'Try again.', headers: { 'Retry-After': 'Seconds to wait.' } },
        },
      },
      handlers: [
        async (_request: Request, response: Response) => {
          const broken = (await live().excerpts()).map(({ brokenRules }) => brokenRules);
          response.json(rulesOf(organisation, broken));
        },
      ],
    },
  ];

  async function putManifest(request: Request, response: Response): Promise<void> {
    const { key } = callerOf(response);
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const kept = await organisation.remember(bytes);
    if (kept === null)
      throw new Problem(503, 'the manifest could not be parsed in 2 seconds; try again', { headers: RETRY });
    if ('problems' in kept)
      throw new Problem(400, 'the manifest is not valid', {
        extra: { errors: kept.problems.map(({ path, message }) => ({ path, message })) },
      });
    response.json(await organisation.judgeManifest(key, kept.hash, clock.now()));
  }
}

/** The response of `GET /api/v1/organisation`. @param broken the broken rules of each agent, as `policy/rule` */
function rulesOf({ rules }: Organisation, broken: readonly (readonly string[])[]): object {
  const policies = rules.policies();
  if (policies === null)
    throw new Problem(503, 'the AgentPolicies are not known yet; try again', { headers: RETRY });
  const countOf = (rule: string): number => broken.filter((each) => each.includes(rule)).length;
  return {
    policies: policies.map(({ name, spec }) => ({
      name,
      rules: spec.rules.map((rule) => ({
        ...{ id: rule.id, action: rule.action, severity: rule.severity ?? 'high', check: checkOf(rule) },
        broken: countOf(`${name}/${rule.id}`),
      })),
    })),
    invalid: rules.invalid(),
  };
}
