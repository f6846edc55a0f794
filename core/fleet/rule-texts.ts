import { EVIDENCE_TEXTS } from '../audit/evidence-kinds.ts';
import { WEIGHTS } from '../audit/rule.ts';
import { RULES } from '../audit/rules.ts';
import { POINTS, type GapRule } from '../gap/finding.ts';
import { SEVERITIES } from '../shapes/values.ts';
import { patternOf } from '../gap/property-pattern.ts';
import { GAP_RULES } from '../gap/rules.ts';
import type { Pack } from '../manifest/packs.ts';
import type { Severity } from '../policy/policy-rule.ts';
import { POLICY_RULES } from '../policy/rules.ts';
import { plain, sentence } from './sentence.ts';

export const RULE_KINDS = ['gap', 'compliance'] as const;

/** A gap rule, a policy rule or a compliance rule, described for people. */
export interface RuleText {
  /** A rule id such as `MODEL-01`, or a property of the gap such as `tool:<name>`. */
  id: string;
  /** gap: its issues lower the score of `/gap`. compliance: `platform audit` scores it. */
  kind: (typeof RULE_KINDS)[number];
  /** null: a gap rule. */
  pack: Pack | null;
  title: string;
  /** The highest severity of its issues. */
  severity: Severity;
  /** gap: points of an issue of this severity. compliance: weight of the rule in the scores. */
  points: number;
  meaning: string;
  remedy: string;
}

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
