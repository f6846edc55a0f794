import { unusedLaneOf } from '../egress/lane-use.ts';
import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { isValid } from './proof-expiry.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import { cut } from '../untrusted/fields.ts';
import { EVIDENCE_TIERS } from '../shapes/values.ts';
import type { EvidenceItem, EvidenceReport } from '../shapes/evidence.ts';
import { EVIDENCE_ROWS, type DeclaredItem, type EvidenceRow } from './rows.ts';
import { isRecent, modelSubject, sightingKey } from '../facts/sightings.ts';

/** Maximum length of an item's text, in UTF-16 units. */
const MAX_TEXT = 500;

/** The input of `evidenceOf`. */
export interface EvidenceInput {
  manifest: Manifest;
  at: Date;
  /** Sighting key -> time it was last seen, in epoch milliseconds. */
  seen: ReadonlyMap<string, number>;
  /** Results of the last probe run. A failed probe contradicts the agent's report. */
  reach: Facts['reach'];
  /** The proof records that count for this agent. */
  proofs: readonly ProofRecord[];
  /** What lanes observed; null or absent: there is no lane. */
  egress?: Facts['egress'];
}

/** The declared items of the manifest with their evidence from the 24 hours before `at`, or their proof valid at `at`. */
export function evidenceOf(input: EvidenceInput): EvidenceReport {
  const items = itemsOf(input);
  const proofs = input.proofs.filter(({ origin }) => origin === 'control-plane');
  const shown = shownOf(items);
  const withoutLocal = proofs.length === input.proofs.length ? shown : shownOf(itemsOf({ ...input, proofs }));
  return {
    shown,
    declared: items.length,
    reported: items.filter(({ tier }) => tier === 'reported').length,
    ...(withoutLocal === shown ? {} : { shownWithoutLocalProofs: withoutLocal }),
    items,
  };
}

/** The share that an item of tier `reported` counts: less than an item with evidence from outside the agent. */
const REPORTED_SHARE = 0.5;

function shownOf(items: readonly EvidenceItem[]): number {
  return items.reduce((sum, { tier }) => {
    if (tier === 'none') return sum;
    return sum + (tier === 'reported' ? REPORTED_SHARE : 1);
  }, 0);
}

function itemsOf(input: EvidenceInput): EvidenceItem[] {
  const items = EVIDENCE_ROWS.flatMap((row) =>
    distinct(row.items(input.manifest)).map((declared) => judge(row, declared, input)),
  );
  const rank = ({ tier }: EvidenceItem): number => EVIDENCE_TIERS.indexOf(tier);
  return items.sort((a, b) => rank(a) - rank(b));
}

function distinct(items: readonly DeclaredItem[]): DeclaredItem[] {
  return [...new Map(items.map((item) => [item.name, item])).values()];
}

function judge(row: EvidenceRow, declared: DeclaredItem, input: EvidenceInput): EvidenceItem {
  const { kind } = row;
  const name = cut(declared.name, MAX_TEXT);
  const { probed, observed = [] } = declared.keys;
  // The agent writes its responses itself. Where a lane would see its calls, they are no more than a report.
  const isPastLane = isModelPastLane(input);
  const seenKeys = { probed, observed: isPastLane ? observed.filter(isOfLane) : observed };
  for (const tier of ['probed', 'observed'] as const) {
    const lastSeen = lastOf(seenKeys[tier], input);
    if (lastSeen !== null) return { kind, name, tier, shownBy: row.shownBy[tier] ?? tier, lastSeen };
  }
  const proof = proofOf(declared, input);
  if (proof !== undefined) {
    const { ruleId, origin, verifiedAt } = proof;
    const shownBy = `${origin === 'local' ? 'local proof' : 'proof'} of ${ruleId}`;
    return { kind, name, tier: 'proved', shownBy, lastSeen: verifiedAt };
  }
  const inResponses = isPastLane ? lastOf(observed, input) : null;
  if (inResponses !== null)
    return { kind, name, tier: 'reported', shownBy: IN_RESPONSES, lastSeen: inResponses };
  const lastSeen = lastOf(declared.keys.reported, input);
  if (lastSeen === null) return { kind, name, tier: 'none' };
  const contradiction = contradictionOf(row, declared, input);
  if (contradiction !== null)
    return { kind, name, tier: 'none', contradictedBy: cut(contradiction, MAX_TEXT) };
  return { kind, name, tier: 'reported', shownBy: row.shownBy.reported ?? 'report of the agent', lastSeen };
}

const IN_RESPONSES = 'usage in responses; no call on the egress lane';

/** Whether the vendor of the declared model has a lane, and no call passed it. */
const isModelPastLane = ({ manifest, egress = null }: EvidenceInput): boolean =>
  egress !== null && unusedLaneOf(manifest.spec.model.provider, egress) !== null;

const isOfLane = (key: string): boolean => key.startsWith(sightingKey('lane', ''));

/** The last time that one of the keys was seen within the 24 hours, ISO 8601; null: not seen. */
function lastOf(keys: readonly string[] = [], { seen, at }: EvidenceInput): string | null {
  const last = Math.max(-Infinity, ...keys.map((key) => seen.get(key) ?? -Infinity));
  return isRecent(last, at) ? new Date(last).toISOString() : null;
}

/** The valid proof of the item; a control-plane proof is preferred to a local proof. */
function proofOf({ rules = [] }: DeclaredItem, { proofs, at }: EvidenceInput): ProofRecord | undefined {
  const counted = proofs.filter((proof) => rules.includes(proof.ruleId) && isValid(proof, at));
  return counted.find(({ origin }) => origin !== 'local') ?? counted[0];
}

function contradictionOf(row: EvidenceRow, { probe }: DeclaredItem, input: EvidenceInput): string | null {
  if (row.kind === 'model') return otherModelOf(input);
  const reach = probe === undefined ? undefined : input.reach.get(probe);
  return reach?.state === 'unreachable' ? `sidecar probe: ${reach.reason}` : null;
}

/** The observed model ids by source, and the words for a contradiction. */
const OBSERVED_MODELS: readonly [prefix: string, textOf: (id: string) => string][] = [
  [sightingKey('wire', 'model:'), (id) => `usage of ${id} in responses`],
  [sightingKey('lane', 'model:'), (id) => `call of ${id} on an egress lane`],
];

/** The latest observed model id, as a contradiction text; null if the fallback was seen or no other model was seen. */
function otherModelOf(input: EvidenceInput): string | null {
  const { manifest, seen, at } = input;
  const { fallback } = manifest.spec.model;
  const fallbackKeys = (['wire', 'requested', 'lane'] as const).flatMap((source) =>
    fallback === undefined ? [] : [sightingKey(source, modelSubject(fallback.id))],
  );
  if (lastOf(fallbackKeys, input) !== null) return null;
  let newest: { text: string; ms: number } | null = null;
  for (const [key, ms] of seen)
    for (const [prefix, textOf] of OBSERVED_MODELS)
      if (key.startsWith(prefix) && isRecent(ms, at) && ms > (newest?.ms ?? -Infinity))
        newest = { text: textOf(key.slice(prefix.length)), ms };
  return newest === null ? null : newest.text;
}
