import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { AgentExcerpt } from '../../core/fleet/excerpt.ts';
import { policyReportOf } from '../../core/fleet/policy-report.ts';
import type { RuleSource } from '../../core/organisation/finding.ts';
import { MAX_JUDGED_BYTES, UNJUDGED } from '../../core/organisation/gate.ts';
import { MAX_BREAKING, MAX_BROKEN, type OrganisationReport } from '../../core/shapes/organisation.ts';
import { whileWaiting } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { readableBy } from '../auth/authorize.ts';
import { callerOf } from '../auth/caller.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { LiveFleet } from '../live/fleet.ts';

const RETRY = { 'retry-after': '10' };

/** The rules of the organisation, and the judgement of a manifest before its agent starts. */
export function organisationRoutes(context: ControlPlaneContext, live: () => LiveFleet): ControlPlaneRoute[] {
  const { organisation, clock } = context;
  return [
    {
      method: 'PUT',
      path: '/api/v1/manifest',
      access: 'bearer',
      summary: `Body: the manifest as YAML, at most 64 KiB. \`{manifestHash, allowed, findings[], notJudged[], organisation}\`: whether the rules of the organisation allow the sender to start with it. \`allowed\` is null while the rules, or the labels of a new namespace, are not known. \`findings\` has at most ${MAX_BROKEN} entries. If it is not valid, above 64 KiB, or takes too long to compare, \`allowed\` is false where a Deny rule applies; else 400 or 413. 503 with \`Retry-After\` if it cannot be parsed in two seconds and no Deny rule applies, 429 while too many manifests of the namespace wait.`,
      operation: {
        id: 'putManifest',
        responses: {
          200: { description: 'The judgement.', schema: 'ManifestJudgement' },
          400: 'The manifest is not valid, and no Deny rule applies; `errors` has its problems.',
          413: 'More than 64 KiB, and no Deny rule applies.',
          429: {
            description: 'Too many manifests of the namespace wait.',
            headers: { 'Retry-After': 'Seconds to wait.' },
          },
          503: { description: 'Try again.', headers: { 'Retry-After': 'Seconds to wait.' } },
        },
      },
      handlers: manifestHandlers(context),
    },
    {
      method: 'GET',
      path: '/api/v1/organisation',
      access: 'read',
      summary: `\`{policies: [{name, agents, broken, notJudged, rules: [{id, action, severity, check, enforcedAt, broken, wouldBlock, agents: [{namespace, agentName, since}]}], exceptions: [{namespace, agents, rules, reason, expires, state}]}], invalid: [{policy, reason}]}\`: the rules of the organisation, with the number of agents that break each and the first ${MAX_BREAKING} of them, as far as the caller may read them. \`wouldBlock\` is the dry run of a Warn or Audit rule. At most two seconds old. 503 while the rules are not known.`,
      operation: {
        id: 'getOrganisation',
        responses: {
          200: { description: 'The rules.', schema: 'OrganisationRules' },
          503: { description: 'Try again.', headers: { 'Retry-After': 'Seconds to wait.' } },
        },
      },
      handlers: [
        async (_request: Request, response: Response) => {
          const namespaces = await readableBy(response, context);
          const agents = await live().excerpts(namespaces);
          response.json(reportOf(organisation.rules, { agents, namespaces }, clock.now()));
        },
      ],
    },
  ];
}

function manifestHandlers({ organisation, clock }: ControlPlaneContext): RequestHandler[] {
  const raw = express.raw({ limit: MAX_JUDGED_BYTES, type: () => true });
  return [body, putManifest];

  /** A manifest that is too large to be read must not pass the rules. */
  function body(request: Request, response: Response, next: NextFunction): void {
    raw(request, response, (error?: { type?: string; length?: number; received?: number }) => {
      const bytes = error?.type === 'entity.too.large' ? (error.length ?? error.received ?? 0) : 0;
      const { key } = callerOf(response);
      const reason = UNJUDGED.tooLarge(bytes);
      const judgement = bytes > 0 ? organisation.judgeWithout(key, reason, clock.now()) : null;
      if (judgement === null) next(error);
      else response.json(judgement);
    });
  }

  async function putManifest(request: Request, response: Response): Promise<void> {
    const { key } = callerOf(response);
    const signal = whileWaiting(response);
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const kept = await organisation.remember(bytes, { namespace: key.namespace, signal });
    if (kept === null) throw tooMany();
    if (kept === 'slow' || 'problems' in kept) {
      const reason = kept === 'slow' ? UNJUDGED.tooSlow : UNJUDGED.invalid(kept.problems);
      // A sidecar of another version may accept it.
      const judgement = organisation.judgeWithout(key, reason, clock.now());
      if (judgement !== null) return void response.json(judgement);
      if (kept === 'slow')
        throw new Problem(503, 'the manifest could not be parsed in 2 seconds; try again', {
          headers: RETRY,
        });
      throw new Problem(400, 'the manifest is not valid', {
        extra: { errors: kept.problems.map(({ path, message }) => ({ path, message })) },
      });
    }
    const judgement = await organisation.judgeManifest(key, kept.hash, { at: clock.now(), signal });
    if (judgement === null) throw tooMany();
    response.json(judgement);
  }
}

/** Not 503: the sender waits instead of starting its agent without a judgement, because its own namespace causes this. */
const tooMany = (): Problem =>
  new Problem(429, 'too many manifests of the namespace wait to be judged; try again', { headers: RETRY });

/** The response of `GET /api/v1/organisation`, for a caller who may read these agents. */
function reportOf(
  rules: RuleSource,
  { agents, namespaces }: { agents: readonly AgentExcerpt[]; namespaces: readonly string[] | null },
  at: Date,
): OrganisationReport {
  const policies = rules.policies();
  if (policies === null)
    throw new Problem(503, 'the AgentPolicies are not known yet; try again', { headers: RETRY });
  return {
    policies: policies
      .map((policy) => policyReportOf(policy, agents, rules, at))
      .map((report) => ({
        ...report,
        exceptions: report.exceptions.filter(
          ({ namespace }) => namespaces === null || namespaces.includes(namespace),
        ),
      })),
    invalid: [...rules.invalid()],
  };
}
