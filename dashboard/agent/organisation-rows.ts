import type { AgentOrganisation, PictureItems } from '../../core/shapes/agent-organisation.ts';
import { formatNumber, formatUsd } from '../format.ts';

/** What is allowed, declared and observed of one kind; null: not known. */
export interface PictureRow extends Record<'allowed' | 'declared' | 'observed', PictureItems | null> {
  kind: string;
}

/** Patterns of one rule that are shown. */
const MAX_PATTERNS = 20;

const BUDGETS = [
  { kind: 'cost', limit: 'maxMonthlyUSD', used: 'costTodayUsd', textOf: formatUsd, per: 'per month' },
  { kind: 'tokens', limit: 'maxTokensPerDay', used: 'tokensToday', textOf: formatNumber, per: 'per day' },
] as const;

/** The rows of the picture of an agent: models, tools, hosts and budgets. */
export function pictureRows({ allows, declared, observed, organisation }: AgentOrganisation): PictureRow[] {
  const kinds = (['models', 'tools', 'hosts'] as const).map((kind) => ({
    kind,
    allowed: allows && itemsOf(patternsOf(allows, kind)),
    declared: declared?.[kind] ?? null,
    observed: observed[kind],
  }));
  const budgets = BUDGETS.map(({ kind, limit, used, textOf, per }) => {
    const path = `spec.model.costControls.${limit}`;
    const broken = organisation?.broken.find((each) => each.path === path);
    const breaks = broken === undefined ? [] : [`${broken.policy}/${broken.rule}`];
    const textsOf = (value: number | null): string[] => (value === null ? [] : [`${textOf(value)} ${per}`]);
    const [text = broken && 'no limit'] = textsOf(declared?.[limit] ?? null);
    return {
      kind,
      allowed: allows && itemsOf(textsOf(allows[limit])),
      declared: declared && itemsOf(text === undefined ? [] : [text], breaks),
      observed: observed[used] === null ? null : itemsOf([`${textOf(observed[used])} today`]),
    };
  });
  return [...kinds, ...budgets];
}

const itemsOf = (names: readonly string[], breaks: string[] = []): PictureItems => ({
  items: names.map((name) => ({ name, breaks, undeclared: false })),
  total: names.length,
});

/** One text for each rule, because all rules apply. */
function patternsOf(
  allows: NonNullable<AgentOrganisation['allows']>,
  kind: 'models' | 'tools' | 'hosts',
): string[] {
  if (kind !== 'tools') return allows[kind].map(listText);
  const { allowed, forbidden } = allows.tools;
  return [...allowed.map(listText), ...(forbidden.length > 0 ? [`not ${listText(forbidden)}`] : [])];
}

function listText(patterns: readonly string[]): string {
  const more = patterns.length - MAX_PATTERNS;
  return patterns.slice(0, MAX_PATTERNS).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
