import type { ProofOrigin } from '../shapes/values.ts';

/** Where the records of an agent are written (PROOF_WRITES of its sidecar). */
export type ProofWrites = ProofOrigin;
/** The header of `GET /proof` with the `ProofWrites` value. */
export const PROOF_WRITES_HEADER = 'X-Platform-Proof-Writes';
