import type { ObservationStatus } from '../../core/observation/observation.ts';
import { proofMembersOf, proofSetOf } from '../../core/observation/proofs.ts';
import { putProof, removeProof } from '../../core/proof/proof-set.ts';
import type { ProofRecord } from '../../core/proof/proof.ts';

/** The status with this record instead of the rule's previous record. */
export function withProof(status: ObservationStatus, record: ProofRecord): ObservationStatus {
  return { ...status, ...proofMembersOf(putProof(proofSetOf(status), record)) };
}

/** The status without the rule's record. Heartbeats do not restore the record. null: there is no such record. */
export function withoutProof(status: ObservationStatus, ruleId: string, at: Date): ObservationStatus | null {
  const before = proofSetOf(status);
  const after = removeProof(before, ruleId, { origin: 'control-plane', at });
  return after === before ? null : { ...status, ...proofMembersOf(after) };
}
