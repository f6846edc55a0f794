import { EVASIONS, LAYERS, type Evasion } from '../testing/egress/evasions.ts';
import { withPart } from './generated-part.ts';
import { alignedTable } from './markdown-table.ts';

const BEGIN = '<!-- Generated from testing/egress/evasions.ts by scripts/generate-evasion-tables.ts -->';

const cells = ({ attack, shows, test }: Evasion): string[] => [
  attack,
  shows ?? 'invisible',
  typeof test === 'string' ? `\`${test}\`` : `not tested: ${test.untested}`,
];

/** `docs/guide/egress.md` with a table of evasions for each layer. */
export function egressPage(): string {
  const tables = Object.entries(LAYERS).map(([layer, heading]) => {
    const rows = EVASIONS.filter((row) => row.layer === layer).map(cells);
    return `### ${heading}\n\n${alignedTable(['What the agent does', 'How it shows', 'Test'], rows)}`;
  });
  return withPart('docs/guide/egress.md', BEGIN, tables.join('\n'));
}
