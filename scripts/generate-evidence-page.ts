import { EVIDENCE_TIERS, type EvidenceTier } from '../core/evidence/evidence.ts';
import { EVIDENCE_ROWS } from '../core/evidence/rows.ts';
import { markdownTable } from './markdown-table.ts';

type ShownTier = Exclude<EvidenceTier, 'none'>;

/** What each tier means, and what it counts. */
const TIERS: Readonly<Record<EvidenceTier, readonly [meaning: string, counts: string]>> = {
  probed: ['a probe of the sidecar reached it', '1'],
  observed: ['it is in the traffic that passed the sidecar', '1'],
  proved: ['an unexpired proof record of a compliance rule shows it', '1'],
  reported: ['the agent alone reports it', '0.5'],
  none: ['nothing shows it', '0'],
};

/** `docs/reference/evidence.md`. */
export function evidenceReferencePage(): string {
  const tiers = EVIDENCE_TIERS.map((tier) => [`\`${tier}\``, ...TIERS[tier]]);
  const shown = EVIDENCE_TIERS.filter((tier): tier is ShownTier => tier !== 'none');
  const rows = EVIDENCE_ROWS.map(({ kind, declaredAt, shownBy, contradictedBy = '' }) => [
    `\`${kind}\``,
    declaredAt,
    ...shown.map((tier) => shownBy[tier] ?? ''),
    contradictedBy,
  ]);
  return `# Evidence

<!-- Made by scripts/generate.ts from core/evidence/. Do not edit. -->

Evidence is the share of the items that a manifest declares and that something showed in the last 24 hours. The score counts
the differences that were found. The evidence counts the items that were shown: an agent that reports nothing has a score of 100
and little evidence. \`GET /gap\` has \`evidence {shown, declared, reported, items[]}\`.

## Tiers

${markdownTable(['Tier', 'Meaning', 'Counts in `shown`'], tiers)}
An item has the best tier that applies, in the order of the table. \`reported\` is also the number of items with that tier.

## What shows an item

${markdownTable(['Kind', 'Declared at', ...shown.map((tier) => `\`${tier}\``), 'A report does not count when'], rows)}
- A sighting counts for 24 hours, also after the audit ring has overwritten its entry, and until the sidecar restarts. A probe
  or a check that fails now does not undo an earlier one: the health report has the failure.
- A proof counts until it expires. \`shownWithoutLocalProofs\` is the sum without proofs of origin \`local\`, where that is
  another number.
- Model ids are compared without the path of a gateway and without upper case. An id without a date is shown by the same id
  with a date (\`gpt-4o\` by \`gpt-4o-2024-08-06\`), an id with a date by the same date alone, and an id that ends in \`-latest\` by any date.
- An item that is declared twice counts once.
`;
}
