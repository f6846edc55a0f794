import { parseWith } from '../shapes/field.ts';
import type { Actor } from '../shapes/actor.ts';
import { present } from '../untrusted/present.ts';
import type { FieldError } from '../untrusted/fields.ts';
import { type ProofOrigin } from '../shapes/values.ts';
import { type ProofRecord, type ProofSubmission, proofSubmission } from '../shapes/proof.ts';

/** Parses the body of `POST /proof/rule/:ruleId`. Rejects a proof that has already expired. */
export function parseProofSubmission(
  value: unknown,
  now: Date,
): { ok: true; submission: ProofSubmission } | { ok: false; errors: FieldError[] } {
  const parsed = parseWith(proofSubmission, value);
  if (!parsed.ok) return parsed;
  const { expiresAt } = parsed.value;
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime())
    return { ok: false, errors: [{ path: 'expiresAt', message: 'must not be in the past' }] };
  return { ok: true, submission: parsed.value };
}

/** Creates the record of a submission. */
export function proofRecordOf(
  ruleId: string,
  submission: ProofSubmission,
  written: { origin: ProofOrigin; at: Date; actor?: Actor },
): ProofRecord {
  const { origin, at, actor } = written;
  return { ruleId, origin, ...submission, verifiedAt: at.toISOString(), ...present({ actor }) };
}
