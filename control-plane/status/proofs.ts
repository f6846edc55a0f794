import type { ObservationStatus } from '../../core/observation/observation.ts';
import { putProof, removeProof, type ProofSet } from '../../core/proof/proof-set.ts';
import type { ProofRecord } from '../../core/proof/proof.ts';

/** The status with this record in the place of the rule's last one. */
export function withProof(status: ObservationStatus, record: ProofRecord): ObservationStatus {
  return withProofSet(status, putProof(proofSetOf(status), record));
}

/** The status without the rule's record; null: it has none. */
export function withoutProof(status: ObservationStatus, ruleId: string, at: Date): ObservationStatus | null {
  const before = proofSetOf(status);
  const after = removeProof(before, ruleId, at);
  return after === before ? null : withProofSet(status, after);
}

function proofSetOf(status: ObservationStatus): ProofSet {
  return {
    revision: status.proofRevision ?? 0,
    proofs: status.proofs ?? [],
    tombstones: status.proofTombstones ?? [],
  };
}

function withProofSet(status: ObservationStatus, set: ProofSet): ObservationStatus {
  return {
    ...status,
    proofRevision: set.revision,
    proofs: [...set.proofs],
    proofTombstones: [...set.tombstones],
  };
}
