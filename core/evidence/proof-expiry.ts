import type { ProofRecord } from '../shapes/proof.ts';

/** Whether the proof has expired at `at`. */
export function hasExpired(proof: ProofRecord, at: Date): boolean {
  return proof.expiresAt !== undefined && Date.parse(proof.expiresAt) <= at.getTime();
}

/** Whether the proof is neither expired nor stale. */
export const isValid = (proof: ProofRecord, at: Date): boolean =>
  proof.state !== 'stale' && !hasExpired(proof, at);

/** The records as sent to clients: expired records are included, with `expired: true`. */
export function withExpiry(proofs: readonly ProofRecord[], at: Date): ProofRecord[] {
  return proofs.map((proof) => {
    const { expired: _, ...record } = proof;
    return hasExpired(proof, at) ? { ...record, expired: true } : record;
  });
}
