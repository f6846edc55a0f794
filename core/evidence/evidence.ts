/**
 * How an item of the manifest was shown to be real. `probed`: by a probe of the sidecar. `observed`: in the traffic.
 * `proved`: by a proof record. `reported`: the agent alone reports it. `none`: by nothing.
 */
export type EvidenceTier = 'probed' | 'observed' | 'proved' | 'reported' | 'none';
export const EVIDENCE_TIERS: readonly EvidenceTier[] = ['probed', 'observed', 'proved', 'reported', 'none'];

export type ItemKind =
  | 'model'
  | 'tool'
  | 'guardrail'
  | 'service'
  | 'memory'
  | 'mcp'
  | 'budget'
  | 'evaluation';

export const ITEM_KINDS: readonly ItemKind[] = [
  'model',
  'tool',
  'guardrail',
  'service',
  'memory',
  'mcp',
  'budget',
  'evaluation',
];

/** One declared item and the best evidence of it. */
export interface EvidenceItem {
  kind: ItemKind;
  /** Model id, tool, `<where>.<type>` of a guardrail, service, role of a memory, MCP server, `maxTokensPerDay`, `datasets`. */
  name: string;
  tier: EvidenceTier;
  /** What shows the item; absent with tier none. */
  shownBy?: string;
  /** ISO 8601; absent with tier none. */
  lastSeen?: string;
  /** Why what the agent reports of the item does not count. */
  contradictedBy?: string;
}

/** How much of what a manifest declares was shown in the last 24 hours. */
export interface EvidenceReport {
  /** Items with tier probed, observed or proved, plus half of those with tier reported. */
  shown: number;
  /** All items; at least 1. */
  declared: number;
  /** Items that the agent alone reports. */
  reported: number;
  /** `shown` without local proofs; absent: none counts. */
  shownWithoutLocalProofs?: number;
  /** By tier in the order of EVIDENCE_TIERS, then in the order of the manifest. */
  items: EvidenceItem[];
}

/** The item in a message: `guardrail input.pii-detector`. */
export function itemText({ kind, name }: Pick<EvidenceItem, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}

/** The least evidence that counts as compliant where nothing else is set, in percent of the declared items. */
export const DEFAULT_COMPLIANT_EVIDENCE = 50;

/** What share of the declared items was shown, in whole percent, rounded down; 0..100. */
export function evidencePercent({ shown, declared }: Pick<EvidenceReport, 'shown' | 'declared'>): number {
  return declared <= 0 ? 0 : Math.min(100, Math.max(0, Math.floor((100 * shown) / declared)));
}
