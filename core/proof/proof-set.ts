import type { ProofRecord } from './proof.ts';

/**
 * The proofs of one agent as a store keeps them. A removed rule leaves a tombstone, so that a record that somebody else
 * still has does not bring it back.
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
export function removeProof(set: ProofSet, ruleId: string, at: Date): ProofSet {
  if (!set.proofs.some((proof) => proof.ruleId === ruleId)) return set;
  return {
    revision: set.revision + 1,
    proofs: set.proofs.filter((proof) => proof.ruleId !== ruleId),
    tombstones: byRule([
      ...set.tombstones.filter((tombstone) => tombstone.ruleId !== ruleId),
      { ruleId, at: at.toISOString() },
    ]),
  };
}

/** What a heartbeat says of its sender's proofs. */
export interface SentProofs {
  /** The authority's revision that the sender last took over, whatever it changed since; 0 before the first. */
  revision: number;
  proofs: readonly ProofRecord[];
}

/**
 * The authority's set after a sender told its own: per rule the last writer wins by time, a record only over an older
 * record or tombstone. A rule that is missing was removed by the sender when, and only when, it had seen this very
 * revision; a sender that is behind merely does not know it yet. Returns the same set when nothing changes.
 */
export function mergeSentProofs(set: ProofSet, sent: SentProofs, at: Date): ProofSet {
  let merged = set;
  for (const sentRecord of sent.proofs) {
    const record = notAfter(sentRecord, at);
    if (isNews(set, record)) merged = putProof(merged, record);
  }
  if (sent.revision === set.revision && set.revision > 0) {
    const told = new Set(sent.proofs.map((proof) => proof.ruleId));
    for (const proof of set.proofs)
      if (!told.has(proof.ruleId)) merged = removeProof(merged, proof.ruleId, at);
  }
  // One past what either side has seen, so that the sender takes the result over even after this side lost its state.
  return merged === set ? set : { ...merged, revision: Math.max(set.revision, sent.revision) + 1 };
}

/** A time in the future would win against every later writer. */
function notAfter(record: ProofRecord, at: Date): ProofRecord {
  return Date.parse(record.verifiedAt) > at.getTime() ? { ...record, verifiedAt: at.toISOString() } : record;
}

function isNews(set: ProofSet, record: ProofRecord): boolean {
  const writtenAt = Date.parse(record.verifiedAt);
  const known = set.proofs.find((proof) => proof.ruleId === record.ruleId);
  const buried = set.tombstones.find((tombstone) => tombstone.ruleId === record.ruleId);
  if (buried !== undefined && writtenAt <= Date.parse(buried.at)) return false;
  return known === undefined || (writtenAt > Date.parse(known.verifiedAt) && !saysTheSame(known, record));
}

function saysTheSame(a: ProofRecord, b: ProofRecord): boolean {
  return a.verifiedBy === b.verifiedBy && a.method === b.method && a.expiresAt === b.expiresAt;
}

function byRule<T extends { ruleId: string }>(items: T[]): T[] {
  return items.sort((a, b) => (a.ruleId < b.ruleId ? -1 : a.ruleId > b.ruleId ? 1 : 0));
}
