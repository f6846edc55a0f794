import type { Request } from 'express';
import { isRuleId, RULE_IDS } from '../../core/audit/rules.ts';
import { withExpiry } from '../../core/proof/expiry.ts';
import { parseProofSubmission, proofRecordOf } from '../../core/proof/parse-proof-submission.ts';
import { jsonBody, type Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import type { SidecarContext } from '../context.ts';

const BODY_BYTES = 16 * 1024;

/** Proofs of compliance rules, submitted from outside. */
export function proofRoutes({ proofs, clock }: SidecarContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/proof',
      summary: 'The proof records; elapsed ones carry `expired: true`.',
      handlers: [(_request, response) => void response.json(withExpiry(proofs.list(), clock.now()))],
    },
    {
      method: 'GET',
      path: '/proof/rule/:ruleId',
      summary: 'One proof record; 404 without one.',
      handlers: [
        (request, response) => {
          const record = proofs.find(ruleIdOf(request));
          if (record === undefined) throw noRecord(request);
          response.json(withExpiry([record], clock.now())[0]);
        },
      ],
    },
    {
      method: 'POST',
      path: '/proof/rule/:ruleId',
      summary:
        'Body `{verifiedBy, method, expiresAt?}`. 201 with the record, in the place of an earlier one; 400 with `errors`, or for an unknown rule with `validIds`.',
      handlers: [
        jsonBody(BODY_BYTES),
        async (request, response) => {
          const ruleId = ruleIdOf(request);
          if (!isRuleId(ruleId))
            throw new Problem(400, `there is no rule ${ruleId}`, { extra: { validIds: RULE_IDS } });
          const parsed = parseProofSubmission(request.body as unknown, clock.now());
          if (!parsed.ok)
            throw new Problem(400, 'the proof is not valid', { extra: { errors: parsed.errors } });
          const record = proofRecordOf(ruleId, parsed.submission, clock.now());
          await proofs.put(record);
          response.status(201).json(record);
        },
      ],
    },
    {
      method: 'DELETE',
      path: '/proof/rule/:ruleId',
      summary: '204; 404 without a record.',
      handlers: [
        async (request, response) => {
          if (!(await proofs.remove(ruleIdOf(request), clock.now()))) throw noRecord(request);
          response.status(204).end();
        },
      ],
    },
  ];
}

function ruleIdOf(request: Request): string {
  const { ruleId } = request.params;
  return typeof ruleId === 'string' ? ruleId : '';
}

function noRecord(request: Request): Problem {
  return new Problem(404, `there is no proof of ${ruleIdOf(request)}`);
}
