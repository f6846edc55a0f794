import type { Request, Response } from 'express';
import { isRuleId, RULE_IDS } from '../../core/audit/rules.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import { withExpiry } from '../../core/evidence/proof-expiry.ts';
import { inForceOf } from '../../core/observation/proofs.ts';
import { judgedProof } from '../../core/evidence/stale-proofs.ts';
import { parseProofSubmission, proofRecordOf } from '../../core/evidence/parse-proof.ts';
import { jsonBody } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { requireRight } from '../auth/authorize.ts';
import { actorOf, actorText, principalOf } from '../auth/principal.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { AGENT_QUERY, AGENT_RESPONSES, findAgent } from './find-agent.ts';
import { readRoute } from './read-route.ts';

/** Fits two texts of 2048 characters in their longest JSON encoding. */
const MAX_PROOF_BYTES = 32 * 1024;

const RULE_PATH = '/api/v1/agents/:name/proof/rule/:ruleId';

/** The rows without their handlers. */
const LIST = {
  summary:
    'All proof records. `origin` is `control-plane` or `local`. Expired records have `expired: true`, stale records `state: stale`.',
  operation: {
    id: 'listProofs',
    query: AGENT_QUERY,
    responses: {
      200: { description: 'The proof records.', schema: listOf(ref('ProofRecord')) },
      ...AGENT_RESPONSES,
    },
  },
} as const;

const SUBMIT = {
  method: 'POST',
  path: RULE_PATH,
  access: 'prove',
  summary:
    'Body `{verifiedBy, method, expiresAt?, source?, boundTo?}`. 201 with the record of origin `control-plane`; `verifiedBy` is what the caller states, `actor` is the caller as the control plane verified it. The record replaces the previous record of the rule. The agent receives it with the reply to its next heartbeat. 400 with `errors`, or with `validIds` for an unknown rule.',
  operation: {
    id: 'submitProof',
    query: AGENT_QUERY,
    body: 'ProofSubmission',
    responses: {
      201: { description: 'The stored record.', schema: 'ProofRecord' },
      400: 'The proof is not valid (`errors`), or the rule is unknown (`validIds`).',
      ...AGENT_RESPONSES,
    },
  },
} as const;

const REMOVE = {
  method: 'DELETE',
  path: RULE_PATH,
  access: 'withdraw',
  summary: '204. 404 if there is no record. Heartbeats do not restore a deleted record.',
  operation: {
    id: 'deleteProof',
    query: AGENT_QUERY,
    responses: {
      204: 'The record is deleted.',
      400: 'The rule is unknown (`validIds`).',
      ...AGENT_RESPONSES,
    },
  },
} as const;

/** Proofs of one agent. The agent receives changes with the reply to its next heartbeat. */
export function proofRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { store, clock, logger } = context;
  return [
    readRoute('/api/v1/agents/:name/proof', { ...LIST, read: listProofs }),
    { ...SUBMIT, handlers: [jsonBody(MAX_PROOF_BYTES), submitProof] },
    { ...REMOVE, handlers: [removeProof] },
  ];

  async function listProofs(request: Request, response: Response): Promise<ProofRecord[]> {
    const { status } = await findAgent(request, response, context);
    return withExpiry(status.proofs ?? [], clock.now());
  }

  async function submitProof(request: Request, response: Response): Promise<void> {
    const { namespace, name, status } = await findAgent(request, response, context);
    await requireRight(response, context, { right: 'prove', namespace });
    const ruleId = ruleOf(request);
    const at = clock.now();
    const parsed = parseProofSubmission(request.body as unknown, at);
    if (!parsed.ok) throw new Problem(400, 'the proof is not valid', { extra: { errors: parsed.errors } });
    const actor = actorOf(response);
    if (context.isApproverNotAuthor && isAuthor(parsed.submission.verifiedBy, response, context))
      throw new Problem(403, 'the approver of a proof must not be its author: verifiedBy is the caller');
    const record = proofRecordOf(ruleId, parsed.submission, { origin: 'control-plane', at, actor });
    const outcome = await store.putProof({ namespace, name, record, at });
    if (outcome === 'unknown-agent') throw new Problem(404, `agent ${name} not found`);
    logger.info('proof stored', { agent: name, namespace, ruleId, actor: actorText(actor) });
    response.status(201).json(judgedProof(record, inForceOf(status, record)));
  }

  async function removeProof(request: Request, response: Response): Promise<void> {
    const { namespace, name } = await findAgent(request, response, context);
    await requireRight(response, context, { right: 'withdraw', namespace });
    const ruleId = ruleOf(request);
    const outcome = await store.removeProof({ namespace, name, ruleId, at: clock.now() });
    if (outcome !== 'removed') throw new Problem(404, `${name} has no proof for ${ruleId}`);
    logger.info('proof removed', { agent: name, namespace, ruleId, actor: actorText(actorOf(response)) });
    response.status(204).end();
  }
}

/** A key does not identify a person, so its caller is never the author. */
function isAuthor(verifiedBy: string, response: Response, { userPrefix }: ControlPlaneContext): boolean {
  const { sub, name, user } = principalOf(response);
  // People write the claim, such as an e-mail address, and not the name of Kubernetes, which has the prefix.
  const claim = user.startsWith(userPrefix) ? user.slice(userPrefix.length) : user;
  const given = verifiedBy.trim().toLowerCase();
  return [sub, name, user, claim].some((own) => own?.trim().toLowerCase() === given);
}

function ruleOf(request: Request): string {
  const ruleId = request.params['ruleId'] as string;
  if (!isRuleId(ruleId))
    throw new Problem(400, `${ruleId.slice(0, 100)} is not a valid rule id`, {
      extra: { validIds: RULE_IDS },
    });
  return ruleId;
}
