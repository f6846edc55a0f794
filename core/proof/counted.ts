import { hasExpired } from './expiry.ts';
import type { ProofRecord, ProofWrites } from './proof.ts';

/** Which records count. */
export interface ProofTrust {
  /** Where the records of this agent are written. */
  writes: ProofWrites;
  /** Count local records in any case. */
  acceptLocal?: boolean;
}

/** Whether an unexpired record of this origin counts. A record without origin is of a version that had none, and counts. */
export function isTrusted(
  { origin }: Pick<ProofRecord, 'origin'>,
  { writes, acceptLocal }: ProofTrust,
): boolean {
  return origin !== 'local' || writes === 'local' || acceptLocal === true;
}

/** The unexpired records that count, those of the control plane first. */
export function countedProofs(proofs: readonly ProofRecord[], trust: ProofTrust, at: Date): ProofRecord[] {
  const counted = proofs.filter((proof) => isTrusted(proof, trust) && !hasExpired(proof, at));
  return counted.sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ origin }: ProofRecord): number {
  if (origin === 'control-plane') return 0;
  return origin === undefined ? 1 : 2;
}
