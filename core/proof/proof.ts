/** Where a record was written: with the admin key at the control plane, or at port 4001 of a sidecar, which an agent can reach. */
export type ProofOrigin = 'control-plane' | 'local';
export const PROOF_ORIGINS: readonly ProofOrigin[] = ['control-plane', 'local'];

/** Where the records of an agent are written (PROOF_WRITES of its sidecar). */
export type ProofWrites = ProofOrigin;
/** The header of `GET /proof` with that value. */
export const PROOF_WRITES_HEADER = 'X-Platform-Proof-Writes';

/** A proof record: the result of a compliance test from outside. */
export interface ProofRecord {
  ruleId: string;
  /** Absent: written by a version without origins. */
  origin?: ProofOrigin;
  verifiedBy: string;
  method: string;
  /** ISO 8601; after it the proof no longer counts. */
  expiresAt?: string;
  /** ISO 8601; set by the service. */
  verifiedAt: string;
  /** Only on the wire, when `expiresAt` has passed. */
  expired?: true;
}

/** What a client sends to `POST /proof/rule/:ruleId`. */
export interface ProofSubmission {
  verifiedBy: string;
  method: string;
  expiresAt?: string;
}
