import { NO_PROOFS, type ProofSet } from '../proof/proof-set.ts';
import type { ObservationStatus } from './observation.ts';

/** The proofs in a status. */
export function proofSetOf(status: ObservationStatus): ProofSet {
  return {
    revision: status.proofRevision ?? NO_PROOFS.revision,
    proofs: status.proofs ?? NO_PROOFS.proofs,
    tombstones: status.proofTombstones ?? NO_PROOFS.tombstones,
  };
}

/** The status members for a proof set. */
export function proofMembersOf(
  set: ProofSet,
): Required<Pick<ObservationStatus, 'proofs' | 'proofRevision' | 'proofTombstones'>> {
  return {
    proofRevision: set.revision,
    proofs: [...set.proofs],
    proofTombstones: [...set.tombstones],
  };
}
