/** Where a record was written: on the control plane with the admin key, or on port 4001 of a sidecar (the agent can reach it). */
export const PROOF_ORIGINS = ['control-plane', 'local'] as const;
export type ProofOrigin = (typeof PROOF_ORIGINS)[number];

/** Where the records of an agent are written (PROOF_WRITES of its sidecar). */
export type ProofWrites = ProofOrigin;
/** The header of `GET /proof` with the `ProofWrites` value. */
export const PROOF_WRITES_HEADER = 'X-Platform-Proof-Writes';

/** A proof record: the result of an external compliance test. */
export interface ProofRecord extends ProofSubmission {
  ruleId: string;
  /** Absent: written by an older version without origins. */
  origin?: ProofOrigin;
  /** ISO 8601; set by the service. */
  verifiedAt: string;
  /** Only in responses, when `expiresAt` has passed. */
  expired?: true;
}

/** The request body of `POST /proof/rule/:ruleId`. */
export interface ProofSubmission {
  verifiedBy: string;
  method: string;
  /** ISO 8601; the proof does not count after this time. */
  expiresAt?: string;
}
