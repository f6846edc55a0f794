import { isoTime, object, oneOf, parseWith, text, type Field, type FieldError } from '../untrusted/fields.ts';
import { PROOF_ORIGINS, type ProofOrigin, type ProofRecord, type ProofSubmission } from './proof.ts';

const longText = text({ max: 2048 });

/** The body of `POST /proof/rule/:ruleId`. */
export const proofSubmission: Field<ProofSubmission> = object(
  { verifiedBy: longText, method: longText },
  { expiresAt: isoTime },
);

/** A proof record from an untrusted sender. The receiver checks whether the record has expired. */
export const proofRecord: Field<ProofRecord> = object(
  { ruleId: text({ max: 100 }), verifiedBy: longText, method: longText, verifiedAt: isoTime },
  { expiresAt: isoTime, origin: oneOf(PROOF_ORIGINS) },
);

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
  written: { origin: ProofOrigin; at: Date },
): ProofRecord {
  return { ruleId, origin: written.origin, ...submission, verifiedAt: written.at.toISOString() };
}
