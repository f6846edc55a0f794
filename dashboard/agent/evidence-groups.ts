import { ITEM_KINDS, type EvidenceTier, type ItemKind } from '../../core/shapes/values.ts';
import type { EvidenceItem } from '../../core/shapes/evidence.ts';
import type { Check } from '../../core/shapes/health.ts';
import type { Issue } from '../../core/shapes/gap.ts';

/** One declared item, what the agent reports of it, and its evidence. */
export interface EvidenceRow {
  item: EvidenceItem;
  /** The check that the agent or the sidecar reports for the item; null: none. */
  check: Check | null;
  /** The issue of the gap report about the item; null: none. */
  issue: Issue | null;
}

export interface EvidenceGroup {
  kind: ItemKind;
  title: string;
  /** Items with tier probed, observed or proved, plus half of those with tier reported. */
  shown: number;
  rows: EvidenceRow[];
}

const TITLES: Readonly<Record<ItemKind, string>> = {
  model: 'Model',
  tool: 'Tools',
  guardrail: 'Guardrails',
  service: 'Services',
  memory: 'Memory',
  mcp: 'MCP servers',
  budget: 'Budgets',
  evaluation: 'Evaluations',
};

/** What each tier means. */
export const TIER_TEXTS: Readonly<Record<EvidenceTier, string>> = {
  probed: 'Probed by the sidecar',
  observed: 'Observed in traffic',
  proved: 'Proved by a record',
  reported: 'Reported by the agent only',
  none: 'No evidence',
};

/** Kinds whose checks have the id `<kind>:<name>`, and whose issues have this id as property. */
const CHECKED_KINDS: readonly ItemKind[] = ['tool', 'service', 'memory', 'mcp'];

const POLICY_OF_BUDGET: Readonly<Record<string, string>> = {
  maxTokensPerDay: 'policy.daily_token_limit_exceeded',
  maxMonthlyUSD: 'policy.monthly_cost_limit_exceeded',
};

/** The declared items by kind, in the order of the manifest's kinds. Kinds without items are left out. */
export function groupEvidence(
  items: readonly EvidenceItem[],
  checks: readonly Check[],
  issues: readonly Issue[],
): EvidenceGroup[] {
  return ITEM_KINDS.map((kind) => {
    const rows = items
      .filter((item) => item.kind === kind)
      .map((item) => ({
        item,
        check: checks.find((check) => isCheckOf(item, check)) ?? null,
        issue: issues.find(({ property }) => property === propertyOf(item)) ?? null,
      }));
    return { kind, title: TITLES[kind], shown: shownOf(rows), rows };
  }).filter(({ rows }) => rows.length > 0);
}

function isCheckOf({ kind, name }: EvidenceItem, { id }: Check): boolean {
  if (kind === 'model') return id.startsWith('model:') && id.endsWith(`/${name}`);
  return CHECKED_KINDS.includes(kind) && id === `${kind}:${name}`;
}

/** The property of the gap issue about an item; of the other kinds `<kind>:<name>`. */
const PROPERTIES: Partial<Record<ItemKind, (name: string) => string | undefined>> = {
  model: () => 'model.apiKey',
  guardrail: (name) => `guardrails.${name}`,
  budget: (name) => POLICY_OF_BUDGET[name],
  evaluation: () => 'evaluated',
};

function propertyOf({ kind, name }: EvidenceItem): string | undefined {
  const of = PROPERTIES[kind];
  return of === undefined ? `${kind}:${name}` : of(name);
}

function shownOf(rows: readonly EvidenceRow[]): number {
  const weightOf = (tier: EvidenceTier): number => (tier === 'none' ? 0 : tier === 'reported' ? 0.5 : 1);
  return rows.reduce((sum, { item }) => sum + weightOf(item.tier), 0);
}
