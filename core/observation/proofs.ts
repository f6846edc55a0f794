import type { Heartbeat } from '../shapes/heartbeat.ts';
import { mergeSentProofs, NO_PROOFS, putProof, removeProof, type ProofSet } from '../evidence/proof-set.ts';
import { literalModel, type InForce } from '../evidence/stale-proofs.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { isLive } from './phase.ts';

/** The proofs in a status. */
export function proofSetOf(status: ObservationStatus): ProofSet {
  return {
    revision: status.proofRevision ?? NO_PROOFS.revision,
    proofs: status.proofs ?? NO_PROOFS.proofs,
    tombstones: status.proofTombstones ?? NO_PROOFS.tombstones,
  };
}

function withSet(status: ObservationStatus, { revision, proofs, tombstones }: ProofSet): ObservationStatus {
  return { ...status, proofRevision: revision, proofs: [...proofs], proofTombstones: [...tombstones] };
}

/** What is known of the values in force for the agent. During a rollout the manifest of any instance counts. */
export function inForceOf(
  { instances = [], model }: ObservationStatus,
  { boundTo }: Pick<ProofRecord, 'boundTo'>,
): InForce {
  const hashes = instances.flatMap(({ manifestHash }) => manifestHash ?? []);
  return {
    manifest: hashes.find((hash) => hash === boundTo?.manifest) ?? hashes[0],
    model: literalModel(model?.id),
  };
}

/** The rules whose proof is stale. */
export const staleRules = (proofs: readonly ProofRecord[]): string[] =>
  proofs.flatMap(({ ruleId, state }) => (state === 'stale' ? [ruleId] : []));

/** The records; those of the rules in `stale` are stale. */
export function withStale(proofs: readonly ProofRecord[], stale: readonly string[]): ProofRecord[] {
  return proofs.map(({ state: _, ...proof }) =>
    stale.includes(proof.ruleId) ? { ...proof, state: 'stale' } : proof,
  );
}

/** The status in which a proof is stale if a live instance reports it. Without a live instance nothing changes. */
export function withReportedStale(status: ObservationStatus, at: Date): ObservationStatus {
  const live = (status.instances ?? []).filter((instance) => isLive(instance, at));
  if (status.proofs === undefined || live.length === 0) return status;
  const stale = live.flatMap(({ staleProofs = [] }) => staleProofs);
  return { ...status, proofs: withStale(status.proofs, stale) };
}

/** The status with this record instead of the rule's previous record. */
export function withProof(status: ObservationStatus, record: ProofRecord): ObservationStatus {
  return withSet(status, putProof(proofSetOf(status), record));
}

/** The status without the rule's record. Heartbeats do not restore the record. null: there is no such record. */
export function withoutProof(status: ObservationStatus, ruleId: string, at: Date): ObservationStatus | null {
  const before = proofSetOf(status);
  const after = removeProof(before, ruleId, { origin: 'control-plane', at });
  return after === before ? null : withSet(status, after);
}

/**
 * The status with the agent's proofs after a heartbeat.
 * @param decided the proofs if another store has decided them; a set with an older revision arrived late and is ignored
 */
export function withSentProofs(
  status: ObservationStatus,
  { proofRevision: revision, proof: proofs }: Heartbeat,
  { at, decided }: { at: Date; decided: ProofSet | undefined },
): ObservationStatus {
  const before = proofSetOf(status);
  const after = decided ?? mergeSentProofs(before, { revision, proofs }, at);
  const isLate = decided !== undefined && decided.revision <= before.revision;
  return isLate || after === before ? status : withSet(status, after);
}
