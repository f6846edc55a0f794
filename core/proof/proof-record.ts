import { isoTime, object, text, type Field } from '../untrusted/fields.ts';
import type { ProofRecord } from './proof.ts';

const words = text({ max: 2048 });

/** A proof record as anybody may send it; whether it has elapsed is judged by who reads it. */
export const proofRecord: Field<ProofRecord> = object<
  Pick<ProofRecord, 'ruleId' | 'verifiedBy' | 'method' | 'verifiedAt'>,
  { expiresAt: string }
>(
  { ruleId: text({ max: 100 }), verifiedBy: words, method: words, verifiedAt: isoTime },
  { expiresAt: isoTime },
);
