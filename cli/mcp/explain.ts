import { EVIDENCE_TEXTS } from '../../core/audit/evidence-kinds.ts';
import { RULES } from '../../core/audit/rules.ts';
import { DRIFT_RULES } from '../../authoring/diff/drift-rules.ts';
import { POINTS } from '../../core/gap/finding.ts';
import { SEVERITIES } from '../../core/shapes/values.ts';
import { patternOf } from '../../core/gap/property-pattern.ts';
import { GAP_RULES } from '../../core/gap/rules.ts';
import { nearest } from '../../core/manifest/nearest.ts';
import { POLICY_RULES } from '../../core/policy/rules.ts';
import { quoted } from '../../core/untrusted/quoted.ts';
import { notFound, type Found } from '../admin-key.ts';

/** One rule, as a result of explain_rule. Members without a meaning for its kind are absent. */
export interface Explanation {
  rule: string;
  kind: 'compliance rule' | 'gap issue' | 'policy rule' | 'manifest change';
  /** When the rule applies, by severity. */
  cases: { severity: string; points?: number; when: string }[];
  pack?: string;
  tier?: string;
  /** What shows at run time that the declaration is true. */
  evidence?: string;
  message?: string;
  recommendation?: string;
  references?: readonly string[];
  /** Manifest path of the declaration that adds the rule. */
  declaredAt?: string;
}

const COMPLIANCE = RULES.map(
  ({ id, severity, pack, tier, passesWhen, evidence, message, recommendation, references }): Explanation => ({
    rule: id,
    kind: 'compliance rule',
    cases: [{ severity, when: `violated unless ${passesWhen}` }],
    pack,
    tier,
    evidence: EVIDENCE_TEXTS[evidence.kind],
    message,
    recommendation,
    references,
  }),
);

/** One property can have several rows. */
const GAP = [...Map.groupBy(GAP_RULES, ({ property }) => property)].map(([property, rows]): Explanation => ({
  rule: property,
  kind: 'gap issue',
  cases: SEVERITIES.flatMap((severity) =>
    rows.flatMap(({ when }) => {
      const text = when[severity];
      return text === undefined ? [] : [{ severity, points: POINTS[severity], when: text }];
    }),
  ),
}));

const POLICY = POLICY_RULES.map(
  ({ reason, severity, field, declaredBy, deniesWhen, recommendation }): Explanation => ({
    rule: `policy.${reason}`,
    kind: 'policy rule',
    cases: [{ severity, points: POINTS[severity], when: deniesWhen }],
    declaredAt: `${field}: ${declaredBy}`,
    recommendation,
  }),
);

const DRIFT = DRIFT_RULES.map(({ code, severity, scoreImpact, when }): Explanation => ({
  rule: code,
  kind: 'manifest change',
  cases: [{ severity, points: scoreImpact, when }],
}));

/** Policy rules come before the pattern `policy.<reason>` of the gap. */
export const EXPLANATIONS: readonly Explanation[] = [...COMPLIANCE, ...POLICY, ...GAP, ...DRIFT];

/** The rule with this id, code or property, in upper or lower case; `tool:search` is found by `tool:<name>`. */
export function explain(name: string): Found<Explanation> {
  const wanted = name.trim();
  const isNamed = (candidate: string) => candidate.toLowerCase() === wanted.toLowerCase();
  const found =
    EXPLANATIONS.find(({ rule }) => isNamed(rule) || isNamed(rule.replace(/^policy\./, ''))) ??
    EXPLANATIONS.find(({ rule }) => rule.includes('<') && patternOf(rule).test(wanted));
  if (found !== undefined) return { ok: true, value: found };
  const names = EXPLANATIONS.map(({ rule }) => rule);
  const near = nearest(wanted, names);
  const advice =
    near === undefined ? 'the resource agent-compliance://rules lists all' : `did you mean ${near}?`;
  return notFound(`no rule, issue or change has the name ${quoted(wanted)}; ${advice}`);
}
