/** A proof record: somebody tested a compliance rule from outside and says how. */
export interface ProofRecord {
  ruleId: string;
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
