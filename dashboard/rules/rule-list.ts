import type { RuleState } from '../../core/shapes/rule-state.ts';
import { patternOf } from '../../core/gap/property-pattern.ts';
import type { Pack, Severity } from '../../core/shapes/values.ts';

/** The filter of the list. */
export interface RuleFilter {
  /** Words; a rule must contain each of them in its id, title, meaning or remedy. */
  text: string;
  /** null: all. */
  severity: Severity | null;
  isFailingOnly: boolean;
}

const PACK_TITLES: Readonly<Record<Pack, string>> = {
  'owasp-llm-top10': 'OWASP Top 10 for LLM Applications 2026',
  'model-resilience': 'Model resilience',
  'memory-hygiene': 'Memory hygiene',
  'evaluation-coverage': 'Evaluation coverage',
  observability: 'Observability',
  'metadata-quality': 'Metadata quality',
};

const GAP_TITLE = 'Gap: declared and observed';

/** The rules of one pack, in the order of the API. */
export interface RuleGroup {
  title: string;
  rules: RuleState[];
}

export function filterRules(
  rules: readonly RuleState[],
  { text, severity, isFailingOnly }: RuleFilter,
): RuleState[] {
  const words = text.toLowerCase().split(/\s+/);
  return rules.filter((rule) => {
    const all = [rule.id, rule.title, rule.meaning, rule.remedy].join(' ').toLowerCase();
    return (
      (severity === null || rule.severity === severity) &&
      (!isFailingOnly || rule.failingCount > 0) &&
      words.every((word) => all.includes(word))
    );
  });
}

/** The rules by pack. The rules of the gap score are one group. */
export function groupRules(rules: readonly RuleState[]): RuleGroup[] {
  const groups = new Map<string, RuleState[]>();
  for (const rule of rules) {
    const title = titleOf(rule);
    groups.set(title, [...(groups.get(title) ?? []), rule]);
  }
  return [...groups].map(([title, members]) => ({ title, rules: members }));
}

/** The title of the group of a rule. */
export function titleOf({ pack }: Pick<RuleState, 'pack'>): string {
  return pack === null ? GAP_TITLE : PACK_TITLES[pack];
}

/**
 * The rule with this id, or the rule whose id is a pattern that the property of an issue matches: `tool:search` belongs to
 * `tool:<name>`. Of several patterns the longest matches.
 */
export function findRule(rules: readonly RuleState[], id: string): RuleState | null {
  const exact = rules.find((rule) => rule.id === id);
  if (exact !== undefined) return exact;
  const matches = rules.filter((rule) => rule.id.includes('<') && patternOf(rule.id).test(id));
  return matches.sort((a, b) => b.id.length - a.id.length)[0] ?? null;
}
