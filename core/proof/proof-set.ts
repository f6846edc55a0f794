import type { ProofOrigin, ProofRecord } from './proof.ts';

/**
 * The proofs of one agent in a store. A removed rule leaves a tombstone, so that a sender that still has the record
 * does not restore it.
 */
export interface ProofSet {
  /** Grows with every change; 0: nothing was ever stored. */
  revision: number;
  /** At most one per rule, by rule id. */
  proofs: readonly ProofRecord[];
  tombstones: readonly Tombstone[];
}

export interface Tombstone {
  ruleId: string;
  /** Where it was removed. Absent: by a version without origins. */
  origin?: ProofOrigin;
  /** ISO 8601 */
  at: string;
}

export const NO_PROOFS: ProofSet = { revision: 0, proofs: [], tombstones: [] };

/** The set with this record in the place of the rule's last one. */
export function putProof(set: ProofSet, record: ProofRecord): ProofSet {
  const { expired: _, ...stored } = record;
  return {
    revision: set.revision + 1,
    proofs: byRule([...set.proofs.filter((proof) => proof.ruleId !== record.ruleId), stored]),
    tombstones: set.tombstones.filter((tombstone) => tombstone.ruleId !== record.ruleId),
  };
}

/** The set without the rule's record; the same set when it has none. */
export function removeProof(
  set: ProofSet,
  ruleId: string,
  removed: { origin: ProofOrigin; at: Date },
): ProofSet {
  if (!set.proofs.some((proof) => proof.ruleId === ruleId)) return set;
  return {
    revision: set.revision + 1,
    proofs: set.proofs.filter((proof) => proof.ruleId !== ruleId),
    tombstones: byRule([
      ...set.tombstones.filter((tombstone) => tombstone.ruleId !== ruleId),
      { ruleId, origin: removed.origin, at: removed.at.toISOString() },
    ]),
  };
}

/** The proofs in a heartbeat. */
export interface SentProofs {
  /** The store's revision that the sender last received, whatever it changed since; 0 before the first. */
  revision: number;
  proofs: readonly ProofRecord[];
}

/**
 * The store's set after a heartbeat with the sender's records. A heartbeat reports local records alone: it never
 * creates, changes or removes one of the control plane, nor restores one that was removed there. Per rule the newest
 * local record stays. A local record that is missing was removed by the sender when, and only when, the sender had
 * received this very revision. Returns the same set when nothing changes.
 */
export function mergeSentProofs(set: ProofSet, sent: SentProofs, at: Date): ProofSet {
  let merged = set;
  for (const sentRecord of sent.proofs) {
    if (sentRecord.origin === 'control-plane') continue;
    const record = notAfter({ ...sentRecord, origin: 'local' }, at);
    if (isNews(set, record)) merged = putProof(merged, record);
  }
  if (sent.revision === set.revision && set.revision > 0) {
    const reported = new Set(sent.proofs.map((proof) => proof.ruleId));
    for (const proof of set.proofs)
      if (isLocal(proof) && !reported.has(proof.ruleId))
        merged = removeProof(merged, proof.ruleId, { origin: 'local', at });
  }
  // One past what either side has seen, so that the sender receives the result even after this side lost its state.
  return merged === set ? set : { ...merged, revision: Math.max(set.revision, sent.revision) + 1 };
}

/** Whether the sender has all records of the set, unchanged, and no others. */
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

/** What has no origin may be an admin's, so a heartbeat changes nothing of it. */
function isLocal({ origin }: { origin?: ProofOrigin }): boolean {
  return origin === 'local';
}

/** A time in the future would win against every later writer. */
function notAfter(record: ProofRecord, at: Date): ProofRecord {
  return Date.parse(record.verifiedAt) > at.getTime() ? { ...record, verifiedAt: at.toISOString() } : record;
}

function isNews(set: ProofSet, record: ProofRecord): boolean {
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

function byRule<T extends { ruleId: string }>(items: T[]): T[] {
  return items.sort((a, b) => (a.ruleId < b.ruleId ? -1 : a.ruleId > b.ruleId ? 1 : 0));
}
