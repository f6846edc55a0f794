import type { Severity, EvidenceTier } from '../core/shapes/values.ts';
import type { Check } from '../core/shapes/health.ts';
import { isVerified } from '../core/gap/gap.ts';
import type { Issue } from '../core/shapes/gap.ts';
import type { Heartbeat } from '../core/shapes/heartbeat.ts';
import type { ModelUsage, UsageWindow } from '../core/shapes/usage.ts';

/** The control plane's limit; it rejects a larger heartbeat with 413. */
export const MAX_HEARTBEAT_BYTES = 64 * 1024;

export interface FittedHeartbeat {
  heartbeat: Heartbeat;
  /** JSON text of at most MAX_HEARTBEAT_BYTES. */
  body: string;
  /** Whether lists or texts were truncated. */
  trimmed: boolean;
}

const SHORT_TEXT = 120;
const RANK: Readonly<Record<Severity, number>> = { critical: 0, high: 1, medium: 2, low: 3 };

/**
 * Fits a heartbeat into the size limit: shortens texts first, then repeatedly removes the less important half of the
 * largest list. Score, grade, status, summary and totals do not change.
 */
export function fitHeartbeat(heartbeat: Heartbeat): FittedHeartbeat {
  let body = wireOf(heartbeat);
  if (fits(body)) return { heartbeat, body, trimmed: false };
  let fitted = withShortTexts(heartbeat);
  body = wireOf(fitted);
  while (!fits(body)) {
    const smaller = withoutHalf(fitted);
    if (smaller === null) break;
    fitted = smaller;
    body = wireOf(fitted);
  }
  return { heartbeat: fitted, body, trimmed: true };
}

/** Omits null members. */
function wireOf(heartbeat: Heartbeat): string {
  return JSON.stringify(heartbeat, (_key, value: unknown) => (value === null ? undefined : value));
}

function fits(body: string): boolean {
  return Buffer.byteLength(body) <= MAX_HEARTBEAT_BYTES;
}

function short(text: string): string {
  return text.length <= SHORT_TEXT ? text : `${text.slice(0, SHORT_TEXT - 1)}…`;
}

/** The members of issues, checks, evidence, suppressions and models whose text may be shortened. */
const SHORTENED: ReadonlySet<string> = new Set([
  ...['description', 'recommendation', 'message', 'remediation', 'contradictedBy', 'reason', 'modelId'],
]);

function withShortTexts(heartbeat: Heartbeat): Heartbeat {
  const shortened = (name: string, value: unknown): unknown =>
    typeof value === 'string' && SHORTENED.has(name) ? short(value) : value;
  return JSON.parse(JSON.stringify(heartbeat, shortened)) as Heartbeat;
}

interface Trim {
  size: number;
  apply(): Partial<Heartbeat>;
}

function trimOf<T>(
  list: readonly T[] = [],
  rankOf: (item: T) => number,
  changed: (half: T[]) => Partial<Heartbeat>,
): Trim {
  return { size: sizeOf(list), apply: () => changed(worstHalf(list, rankOf)) };
}

/** null when every list is empty. */
function withoutHalf(heartbeat: Heartbeat): Heartbeat | null {
  const { gap, health, usage, proof, evidence, audit } = heartbeat;
  const trims: Trim[] = [
    trimOf(evidence?.items, itemRank, (items) => ({ evidence: evidence && { ...evidence, items } })),
    trimOf(
      audit?.suppressions,
      () => 0,
      (suppressions) => ({ audit: audit && { ...audit, suppressions } }),
    ),
    trimOf(gap.issues, issueRank, (issues) => ({ gap: { ...gap, issues } })),
    trimOf(health.checks, checkRank, (checks) => ({ health: { ...health, checks } })),
    {
      size: usage === null || usage.models.length < 3 ? 0 : sizeOf(usage.models),
      apply: () => ({ usage: usage && withFoldedModels(usage) }),
    },
    // With a revision, the receiver would treat missing proofs as removed; with revision 0 it only adds proofs.
    trimOf(
      proof,
      (record) => -Date.parse(record.verifiedAt),
      (newest) => ({ proof: newest, proofRevision: 0 }),
    ),
  ];
  const largest = trims.reduce((a, b) => (b.size > a.size ? b : a));
  return largest.size === 0 ? null : { ...heartbeat, ...largest.apply() };
}

function sizeOf(list: readonly unknown[]): number {
  return list.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(list));
}

/** Issues of the LLM analysis are removed first. */
const issueRank = (issue: Issue): number => RANK[issue.severity] + (isVerified(issue) ? 0 : 4);
/** Items without evidence are kept longest. */
const TIER_RANK: Readonly<Record<EvidenceTier, number>> = {
  none: 0,
  reported: 1,
  proved: 2,
  observed: 2,
  probed: 2,
};
const itemRank = (item: { tier: EvidenceTier }): number => TIER_RANK[item.tier];
const checkRank = (check: Check): number => ({ fail: 0, skip: 1, pass: 2 })[check.status];

/** The half with the lowest ranks, in its original order. */
function worstHalf<T>(list: readonly T[], rankOf: (item: T) => number): T[] {
  const keep = new Set([...list].sort((a, b) => rankOf(a) - rankOf(b)).slice(0, Math.floor(list.length / 2)));
  return list.filter((item) => keep.has(item));
}

const FOLDED = '(other)';

/** Folds the models with the fewest tokens into one row, so that the sums stay correct. */
function withFoldedModels(usage: UsageWindow): UsageWindow {
  const named = usage.models
    .filter((model) => model.modelId !== FOLDED)
    .sort((a, b) => b.totalTokens - a.totalTokens);
  const kept = named.slice(0, Math.floor(named.length / 2));
  const folded = usage.models.filter((model) => !kept.includes(model));
  const sum = (key: keyof Omit<ModelUsage, 'modelId'>): number =>
    folded.reduce((total, model) => total + model[key], 0);
  const other: ModelUsage = {
    modelId: FOLDED,
    promptTokens: sum('promptTokens'),
    completionTokens: sum('completionTokens'),
    totalTokens: sum('totalTokens'),
    callCount: sum('callCount'),
  };
  return { ...usage, models: [...kept, other] };
}
