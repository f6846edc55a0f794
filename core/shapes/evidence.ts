import { amount, cutText } from './common.ts';
import { integer, isoTime, known, optional } from './field.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';
import { EVIDENCE_TIERS, ITEM_KINDS } from './values.ts';

const MOST = 1e6;

export const evidenceItem = namedObject('EvidenceItem', 'One declared item and its best evidence.', {
  kind: known('The kind of the item.', ITEM_KINDS),
  name: cutText(
    'Model id, tool, `<where>.<type>` of a guardrail, service, memory role, MCP server, `maxTokensPerDay`, `datasets`.',
  ),
  tier: known(
    'The kind of evidence. probed: a probe of the sidecar. observed: the traffic. proved: a proof record. reported: only the agent reports the item. none: no evidence.',
    EVIDENCE_TIERS,
  ),
  'shownBy?': cutText('The evidence. Absent with tier none.'),
  'lastSeen?': isoTime('Time of the latest evidence. Absent with tier none.'),
  'contradictedBy?': cutText("Why the agent's report of the item does not count."),
});

/** One declared item and the best evidence of it. */
export interface EvidenceItem extends TypeOf<typeof evidenceItem> {}

/** Numbers of items that the manifest declares. */
export const evidenceSums = {
  shown: amount('Items with tier probed, observed or proved, plus half of those with tier reported.', MOST),
  declared: integer('Items that the manifest declares.', { min: 0, limit: MOST }),
  reported: integer('Items that only the agent reports.', { min: 0, limit: MOST }),
};
export const shownWithoutLocalProofs = optional(
  amount('`shown` without local proofs; absent: the same as `shown`.', MOST),
);
export const evidenceItems = list('The items, the best evidence first.', evidenceItem, {
  max: 1_000,
  cut: true,
});

export const evidenceReport = object('The evidence of the last 24 hours for the declared items.', {
  ...evidenceSums,
  items: evidenceItems,
  shownWithoutLocalProofs,
});

/** The evidence from the last 24 hours for the items that a manifest declares. */
export interface EvidenceReport extends TypeOf<typeof evidenceReport> {}
