/**
 * The kind of evidence for an item of the manifest. `probed`: a probe from the sidecar. `observed`: the traffic.
 * `proved`: a proof record. `reported`: only a report of the agent. `none`: no evidence.
 */
export const EVIDENCE_TIERS = ['probed', 'observed', 'proved', 'reported', 'none'] as const;
export type EvidenceTier = (typeof EVIDENCE_TIERS)[number];

export const ITEM_KINDS = [
  'model',
  'tool',
  'guardrail',
  'service',
  'memory',
  'mcp',
  'budget',
  'evaluation',
] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** One declared item and the best evidence of it. */
export interface EvidenceItem {
  kind: ItemKind;
  /** Model id, tool, `<where>.<type>` of a guardrail, service, memory role, MCP server, `maxTokensPerDay`, `datasets`. */
  name: string;
  tier: EvidenceTier;
  /** The evidence, as text; absent with tier none. */
  shownBy?: string;
  /** ISO 8601; absent with tier none. */
  lastSeen?: string;
  /** Why the agent's report of the item does not count. */
  contradictedBy?: string;
}

/** The evidence from the last 24 hours for the items that a manifest declares. */
export interface EvidenceReport {
  /** Number of items with tier probed, observed or proved, plus half the number with tier reported. */
  shown: number;
  /** Number of all items; at least 1. */
  declared: number;
  /** Number of items with tier reported. */
  reported: number;
  /** `shown` without local proofs; absent: the same as `shown`. */
  shownWithoutLocalProofs?: number;
  /** Sorted by tier in the order of EVIDENCE_TIERS, then in the order of the manifest. */
  items: EvidenceItem[];
}

/** The item in a message: `guardrail input.pii-detector`. */
export function itemText({ kind, name }: Pick<EvidenceItem, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}

/** Default for the lowest evidence that counts as compliant, in percent of the declared items. */
export const DEFAULT_COMPLIANT_EVIDENCE = 50;

/** The share of declared items with evidence, in whole percent, rounded down; 0..100. */
export function evidencePercent({ shown, declared }: Pick<EvidenceReport, 'shown' | 'declared'>): number {
  return declared <= 0 ? 0 : Math.min(100, Math.max(0, Math.floor((100 * shown) / declared)));
}
