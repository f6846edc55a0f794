import { EVASIONS, LAYERS, type Evasion } from '../testing/egress/evasions.ts';
import { UNREAD_ROUTES } from '../core/egress/unread-routes.ts';
import { withPart } from './generated-part.ts';
import { alignedTable } from './markdown-table.ts';

const BEGIN = '<!-- Generated from testing/egress/evasions.ts by scripts/generate-evasion-tables.ts -->';

const ROUTES = '<!-- Generated from core/egress/unread-routes.ts by scripts/generate-evasion-tables.ts -->';

const code = (text: string): string => `\`${text}\``;

function unreadRoutesTable(): string {
  const rows = UNREAD_ROUTES.map(({ what, lanes, routes }) => [
    what,
    lanes.map((kind) => code(kind === 'compatible' ? 'compatible:<name>' : kind)).join(', '),
    routes.map(code).join(', '),
  ]);
  return alignedTable(['What', 'Lanes', 'Routes'], rows);
}

const cells = ({ attack, shows, test }: Evasion): string[] => [
  attack,
  shows ?? 'invisible',
  typeof test === 'string' ? `\`${test}\`` : `not tested: ${test.untested}`,
];

/** `docs/reference/review.md` with the table of routes that are not read, and a table of evasions for each layer. */
export function reviewPage(): string {
  const tables = Object.entries(LAYERS).map(([layer, heading]) => {
    const rows = EVASIONS.filter((row) => row.layer === layer).map(cells);
    return `### ${heading}\n\n${alignedTable(['What the agent does', 'How it shows', 'Test'], rows)}`;
  });
  const file = 'docs/reference/review.md';
  return withPart(file, BEGIN, tables.join('\n'), withPart(file, ROUTES, unreadRoutesTable()));
}
