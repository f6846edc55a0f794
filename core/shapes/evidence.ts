import { amount, cutText } from './common.ts';
import { integer, isoTime, known, named, optional, type Field } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { EVIDENCE_TIERS, ITEM_KINDS } from './values.ts';

const MOST = 1e6;

const itemMembers = object('A declared item and the best evidence of it in the last 24 hours.', {
  kind: known('Kind of the item.', ITEM_KINDS),
  name: cutText(
    'Model id, tool, `<where>.<type>` of a guardrail, service, memory role, MCP server, `maxTokensPerDay`, `datasets`.',
  ),
  tier: known('Kind of the evidence.', EVIDENCE_TIERS),
  shownBy: optional(cutText('The evidence, as text; absent with tier none.')),
  lastSeen: optional(isoTime('Absent with tier none.')),
  contradictedBy: optional(cutText("Why the agent's report of the item does not count.")),
});

/** One declared item and the best evidence of it. */
export interface EvidenceItem extends TypeOf<typeof itemMembers> {}
export const evidenceItem: Field<EvidenceItem> = named('EvidenceItem', itemMembers);

/** Numbers of items that the manifest declares. */
export const evidenceSums = {
  shown: amount('Items with evidence; reported items count half.', MOST),
  declared: integer('All items.', { min: 0, limit: MOST }),
  reported: integer('Items that only the agent reports.', { min: 0, limit: MOST }),
};
export const shownWithoutLocalProofs = optional(
  amount('`shown` without local proofs; absent: the same as `shown`.', MOST),
);
export const evidenceItems = list('The items, the best evidence first.', evidenceItem, {
  max: 1_000,
  cut: true,
});

const report = object('The evidence of the last 24 hours for the declared items.', {
  ...evidenceSums,
  items: evidenceItems,
  shownWithoutLocalProofs,
});

/** The evidence from the last 24 hours for the items that a manifest declares. */
export interface EvidenceReport extends TypeOf<typeof report> {}
export const evidenceReport: Field<EvidenceReport> = report;
