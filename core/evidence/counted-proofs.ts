import { isValid } from './proof-expiry.ts';
import type { ProofWrites } from './proof.ts';
import type { ProofRecord } from '../shapes/proof.ts';

/** Determines which records count. */
export interface ProofTrust {
  /** Where the records of this agent are written. */
  writes: ProofWrites;
  /** Always count local records. */
  acceptLocal?: boolean;
}

/** Whether an unexpired record of this origin counts. A record without origin is from an older version and counts. */
export function isTrusted(
  { origin }: Pick<ProofRecord, 'origin'>,
  { writes, acceptLocal }: ProofTrust,
): boolean {
  return origin !== 'local' || writes === 'local' || acceptLocal === true;
}

/** The valid records that count, records of the control plane first. */
export function countedProofs(proofs: readonly ProofRecord[], trust: ProofTrust, at: Date): ProofRecord[] {
  const counted = proofs.filter((proof) => isTrusted(proof, trust) && isValid(proof, at));
  return counted.sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ origin }: ProofRecord): number {
  if (origin === 'control-plane') return 0;
  return origin === undefined ? 1 : 2;
}
