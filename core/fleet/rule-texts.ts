import { EVIDENCE_TEXTS } from '../audit/evidence-kinds.ts';
import { WEIGHTS } from '../audit/rule.ts';
import { RULES } from '../audit/rules.ts';
import { POINTS, type GapRule } from '../gap/finding.ts';
import { SEVERITIES, type Severity } from '../shapes/values.ts';
import { patternOf } from '../gap/property-pattern.ts';
import { GAP_RULES } from '../gap/rules.ts';
import type { RuleText } from '../shapes/rule-state.ts';
import { POLICY_RULES } from '../policy/rules.ts';
import { plain, sentence } from './sentence.ts';

const worstOf = ({ when }: GapRule): Severity => SEVERITIES.find((each) => when[each] !== undefined) ?? 'low';

const GAP = GAP_RULES.map((rule): RuleText => ({
  id: rule.property,
  kind: 'gap',
  pack: null,
  title: rule.title,
  severity: worstOf(rule),
  points: POINTS[worstOf(rule)],
  meaning: SEVERITIES.flatMap((severity) => {
    const text = rule.when[severity];
    return text === undefined ? [] : [sentence(`${severity} (${POINTS[severity]} points): ${text}`)];
  }).join(' '),
  remedy: sentence(rule.recommendation),
}));

const POLICY = POLICY_RULES.map((rule): RuleText => ({
  id: `policy.${rule.reason}`,
  kind: 'gap',
  pack: null,
  title: `Policy: ${plain(rule.deniesWhen)}`,
  severity: rule.severity,
  points: POINTS[rule.severity],
  meaning: `${sentence(`the policy denies a request when ${rule.deniesWhen}`)} ${sentence(`it is declared at ${rule.field} (${rule.declaredBy})`)}`,
  remedy: sentence(rule.recommendation),
}));

const COMPLIANCE = RULES.map((rule): RuleText => ({
  id: rule.id,
  kind: 'compliance',
  pack: rule.pack,
  title: plain(rule.message).replace(/\.$/, ''),
  severity: rule.severity,
  points: WEIGHTS[rule.severity],
  meaning: `${sentence(`the rule passes when ${rule.passesWhen}`)} ${sentence(`evidence at run time: ${EVIDENCE_TEXTS[rule.evidence.kind]}`)}`,
  remedy: sentence(rule.recommendation),
}));

/** Every rule of the gap, of the policy and of the audit. */
export const RULE_TEXTS: readonly RuleText[] = [...GAP, ...POLICY, ...COMPLIANCE];

const GAP_IDS = [...GAP, ...POLICY].map(({ id }) => id);
const EXACT: ReadonlyMap<string, string> = new Map(GAP_IDS.map((id) => [id, id]));
const PATTERNS = GAP_IDS.filter((id) => id.includes('<')).map((id) => ({ id, pattern: patternOf(id) }));

/** The rule that finds this property of the gap: `tool:<name>` for `tool:search`; null: no rule of this version. */
export function gapRuleOf(property: string): string | null {
  return EXACT.get(property) ?? PATTERNS.find(({ pattern }) => pattern.test(property))?.id ?? null;
}
