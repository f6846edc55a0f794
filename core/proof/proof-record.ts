import { isoTime, object, oneOf, text, type Field } from '../untrusted/fields.ts';
import { PROOF_ORIGINS, type ProofRecord } from './proof.ts';

const longText = text({ max: 2048 });

/** A proof record from an untrusted sender. The receiver checks whether the record has expired. */
export const proofRecord: Field<ProofRecord> = object(
  { ruleId: text({ max: 100 }), verifiedBy: longText, method: longText, verifiedAt: isoTime },
  { expiresAt: isoTime, origin: oneOf(PROOF_ORIGINS) },
);
