import { isoTime, object, oneOf, text, type Field } from '../untrusted/fields.ts';
import { PROOF_ORIGINS, type ProofOrigin, type ProofRecord } from './proof.ts';

const words = text({ max: 2048 });

/** A proof record as anybody may send it; whether it has elapsed is judged by who reads it. */
export const proofRecord: Field<ProofRecord> = object<
  Pick<ProofRecord, 'ruleId' | 'verifiedBy' | 'method' | 'verifiedAt'>,
  { expiresAt: string; origin: ProofOrigin }
>(
  { ruleId: text({ max: 100 }), verifiedBy: words, method: words, verifiedAt: isoTime },
  { expiresAt: isoTime, origin: oneOf(PROOF_ORIGINS) },
);
