import type { Request, RequestHandler } from 'express';
import { isRuleId, RULE_IDS } from '../../core/audit/rules.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import { withExpiry } from '../../core/evidence/proof-expiry.ts';
import { parseProofSubmission, proofRecordOf } from '../../core/evidence/parse-proof.ts';
import { PROOF_WRITES_HEADER } from '../../core/evidence/proof.ts';
import { jsonBody } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import type { SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';

const BODY_BYTES = 16 * 1024;

const RULE_PATH = '/proof/rule/:ruleId';

/** The rows without their handlers. */
const LIST = {
  method: 'GET',
  path: '/proof',
  access: 'local',
  summary:
    'Returns the proof records with their `origin`, `control-plane` or `local`; expired records have `expired: true`, stale records `state: stale`. The header `X-Platform-Proof-Writes` contains the value of PROOF_WRITES.',
  operation: {
    id: 'listProofs',
    responses: {
      200: {
        description: 'The proof records.',
        schema: listOf(ref('ProofRecord')),
        headers: { [PROOF_WRITES_HEADER]: 'Where proofs are written: `local` or `control-plane`.' },
      },
    },
  },
} as const;

const GET_ONE = {
  method: 'GET',
  path: RULE_PATH,
  access: 'local',
  summary: 'Returns one proof record; 404 if there is none.',
  operation: {
    id: 'getProof',
    responses: {
      200: { description: 'The proof record.', schema: 'ProofRecord' },
      404: 'The rule has no proof record.',
    },
  },
} as const;

const NOT_WRITABLE = 'PROOF_WRITES is `control-plane`, or the client is not local.';
const NOT_LOCAL = 'The record belongs to the control plane.';

const SUBMIT = {
  method: 'POST',
  path: RULE_PATH,
  access: 'local',
  summary:
    'Stores a proof. Body `{verifiedBy, method, expiresAt?, source?, boundTo?}`. 201 with the record, of origin `local`; an earlier local record is replaced. 400 with `errors`, or with `validIds` for an unknown rule. 403 with PROOF_WRITES=control-plane. 409 if the control plane has a record for the rule.',
  operation: {
    id: 'submitProof',
    body: 'ProofSubmission',
    responses: {
      201: { description: 'The stored record.', schema: 'ProofRecord' },
      400: 'The proof is not valid (`errors`), or the rule is unknown (`validIds`).',
      403: NOT_WRITABLE,
      409: NOT_LOCAL,
    },
  },
} as const;

const REMOVE = {
  method: 'DELETE',
  path: RULE_PATH,
  access: 'local',
  summary:
    'Deletes a local proof record. 204. 403 with PROOF_WRITES=control-plane. 404 without a record. 409 if the record belongs to the control plane.',
  operation: {
    id: 'deleteProof',
    responses: {
      204: 'The record is deleted.',
      403: NOT_WRITABLE,
      404: 'The rule has no proof record.',
      409: NOT_LOCAL,
    },
  },
} as const;

/** Proofs of compliance rules, submitted from outside. */
export function proofRoutes(context: SidecarContext): SidecarRoute[] {
  const { proofs, clock, config, assessor } = context;
  return [
    {
      ...LIST,
      handlers: [
        async (_request, response) => {
          await assessor.compareProofs();
          response.setHeader(PROOF_WRITES_HEADER, config.PROOF_WRITES);
          response.json(withExpiry(proofs.list(), clock.now()));
        },
      ],
    },
    {
      ...GET_ONE,
      handlers: [
        async (request, response) => {
          await assessor.compareProofs();
          const record = proofs.find(ruleIdOf(request));
          if (record === undefined) throw noRecord(request);
          response.json(withExpiry([record], clock.now())[0]);
        },
      ],
    },
    { ...SUBMIT, handlers: [localWritesOnly(context), jsonBody(BODY_BYTES), submitProof(context)] },
    { ...REMOVE, handlers: [localWritesOnly(context), removeProof(context)] },
  ];
}

function submitProof({ proofs, clock, assessor }: SidecarContext): RequestHandler {
  return async (request, response) => {
    const ruleId = ruleIdOf(request);
    if (!isRuleId(ruleId))
      throw new Problem(400, `unknown rule: ${ruleId}`, { extra: { validIds: RULE_IDS } });
    const at = clock.now();
    const parsed = parseProofSubmission(request.body as unknown, at);
    if (!parsed.ok) throw new Problem(400, 'the proof is not valid', { extra: { errors: parsed.errors } });
    const record = proofRecordOf(ruleId, parsed.submission, { origin: 'local', at });
    if ((await proofs.put(record)) === 'not-local') throw notLocal(request);
    await assessor.compareProofs();
    response.status(201).json(proofs.find(ruleId) ?? record);
  };
}

function removeProof({ proofs, clock }: SidecarContext): RequestHandler {
  return async (request, response) => {
    const outcome = await proofs.remove(ruleIdOf(request), clock.now());
    if (outcome === 'no-proof') throw noRecord(request);
    if (outcome === 'not-local') throw notLocal(request);
    response.status(204).end();
  };
}

/** With PROOF_WRITES=control-plane the sidecar rejects proofs, since the agent itself could submit them over loopback. */
function localWritesOnly({ config, manifest }: SidecarContext): RequestHandler {
  return (request, _response, next) => {
    if (config.PROOF_WRITES === 'local') {
      next();
      return;
    }
    const ruleId = ruleIdOf(request);
    const agent = config.AGENT_NAME ?? manifest.manifest.metadata.name;
    const route = `/api/v1/agents/${agent}/proof/rule/${isRuleId(ruleId) ? ruleId : '{ruleId}'}`;
    throw new Problem(
      403,
      `PROOF_WRITES is control-plane: use ${request.method} ${route} of the control plane with the header X-Admin-Key`,
    );
  };
}

function ruleIdOf(request: Request): string {
  const { ruleId } = request.params;
  return typeof ruleId === 'string' ? ruleId : '';
}

function noRecord(request: Request): Problem {
  return new Problem(404, `no proof record for ${ruleIdOf(request)}`);
}

function notLocal(request: Request): Problem {
  return new Problem(
    409,
    `the proof record for ${ruleIdOf(request)} belongs to the control plane and can only be changed there`,
  );
}
