import type { ProofOrigin } from '../shapes/values.ts';
import type { ProofRecord, Tombstone } from '../shapes/proof.ts';

/**
 * The proofs of one agent in a store. Removing a record leaves a tombstone, so that a sender that still has the record
 * cannot restore it.
 */
export interface ProofSet {
  /** Increases with every change; 0: no record was ever stored. */
  revision: number;
  /** At most one per rule, sorted by rule id. */
  proofs: readonly ProofRecord[];
  tombstones: readonly Tombstone[];
}

export const NO_PROOFS: ProofSet = { revision: 0, proofs: [], tombstones: [] };

/** The set with this record in place of the rule's previous record. */
export function putProof(set: ProofSet, record: ProofRecord): ProofSet {
  const { expired: _, state: _state, ...stored } = record;
  return {
    revision: set.revision + 1,
    proofs: sortByRule([...set.proofs.filter((proof) => proof.ruleId !== record.ruleId), stored]),
    tombstones: set.tombstones.filter((tombstone) => tombstone.ruleId !== record.ruleId),
  };
}

/** The set without the rule's record; the same object if the rule has no record. */
export function removeProof(
  set: ProofSet,
  ruleId: string,
  removed: { origin: ProofOrigin; at: Date },
): ProofSet {
  if (!set.proofs.some((proof) => proof.ruleId === ruleId)) return set;
  return {
    revision: set.revision + 1,
    proofs: set.proofs.filter((proof) => proof.ruleId !== ruleId),
    tombstones: sortByRule([
      ...set.tombstones.filter((tombstone) => tombstone.ruleId !== ruleId),
      { ruleId, origin: removed.origin, at: removed.at.toISOString() },
    ]),
  };
}

/** The proofs in a heartbeat. */
export interface SentProofs {
  /** The store revision that the sender last received, regardless of local changes since then; 0 before the first one. */
  revision: number;
  proofs: readonly ProofRecord[];
}

/**
 * The store's set after a heartbeat with the sender's records. A heartbeat reports only local records. It never creates,
 * changes or removes a record of the control plane, and never restores a record that was removed there. The newest local
 * record per rule wins. A missing local record counts as removed by the sender only if the sender had received the
 * current revision. Returns the same object if nothing changes.
 */
export function mergeSentProofs(set: ProofSet, sent: SentProofs, at: Date): ProofSet {
  let merged = set;
  for (const sentRecord of sent.proofs) {
    if (sentRecord.origin === 'control-plane') continue;
    const record = notAfter({ ...sentRecord, origin: 'local' }, at);
    if (isNewer(set, record)) merged = putProof(merged, record);
  }
  if (sent.revision === set.revision && set.revision > 0) {
    const reported = new Set(sent.proofs.map((proof) => proof.ruleId));
    for (const proof of set.proofs)
      if (isLocal(proof) && !reported.has(proof.ruleId))
        merged = removeProof(merged, proof.ruleId, { origin: 'local', at });
  }
  // Higher than both revisions, so that the sender receives the result even if the store has lost its state.
  return merged === set ? set : { ...merged, revision: Math.max(set.revision, sent.revision) + 1 };
}

/** Whether the sender has exactly the records of the set, unchanged. */
export function isInSync(set: Pick<ProofSet, 'revision' | 'proofs'>, sent: SentProofs): boolean {
  return (
    set.revision === sent.revision &&
    set.proofs.length === sent.proofs.length &&
    set.proofs.every((stored) =>
      sent.proofs.some(
        (each) =>
          each.ruleId === stored.ruleId &&
          each.verifiedAt === stored.verifiedAt &&
          (each.origin === undefined || each.origin === stored.origin) &&
          hasSameContent(each, stored),
      ),
    )
  );
}

/** False for a record without origin: an admin may have written it, so a heartbeat must not change it. */
const isLocal = ({ origin }: { origin?: ProofOrigin }): boolean => origin === 'local';

/** Limits `verifiedAt` to `at`. A time in the future would win against every later write. */
function notAfter(record: ProofRecord, at: Date): ProofRecord {
  return Date.parse(record.verifiedAt) > at.getTime() ? { ...record, verifiedAt: at.toISOString() } : record;
}

function isNewer(set: ProofSet, record: ProofRecord): boolean {
  const writtenAt = Date.parse(record.verifiedAt);
  const known = set.proofs.find((proof) => proof.ruleId === record.ruleId);
  const tombstone = set.tombstones.find(({ ruleId }) => ruleId === record.ruleId);
  if (tombstone !== undefined && (!isLocal(tombstone) || writtenAt <= Date.parse(tombstone.at))) return false;
  if (known === undefined) return true;
  return isLocal(known) && writtenAt > Date.parse(known.verifiedAt) && !hasSameContent(known, record);
}

function hasSameContent(a: ProofRecord, b: ProofRecord): boolean {
  return a.verifiedBy === b.verifiedBy && a.method === b.method && a.expiresAt === b.expiresAt;
}

/** Sorts in place. */
export function sortByRule<T extends { ruleId: string }>(items: T[]): T[] {
  return items.sort((a, b) => (a.ruleId < b.ruleId ? -1 : a.ruleId > b.ruleId ? 1 : 0));
}
