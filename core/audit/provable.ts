import { PACKS } from '../shapes/values.ts';
import { isValid } from '../evidence/proof-expiry.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import { provedBy } from './earned.ts';
import { weightOf, type Rule } from './rule.ts';
import { excludesRule } from './suppressions.ts';
import { RULES } from './rules.ts';
import type { AuditSummary } from '../shapes/audit.ts';

/** The evidence that a sidecar sees itself. A rule with other evidence counts only with a proof. */
const SEEN: readonly Rule['evidence']['kind'][] = ['check', 'guardrail'];

/**
 * The audit without a proved score that these proofs of the control plane cannot explain. The receiver does not know the packs of
 * the manifest, so the limit is the highest score of any pack.
 */
export function withProvableScore(
  audit: AuditSummary,
  proofs: readonly ProofRecord[],
  at: Date,
): AuditSummary {
  const proved = proofs.filter((proof) => proof.origin === 'control-plane' && isValid(proof, at));
  const isSuppressed = ({ id }: Rule): boolean =>
    audit.suppressions.some(({ rule, state }) => rule === id && excludesRule(state));
  const canBeProved = (rule: Rule): boolean =>
    !audit.failed.includes(rule.id) &&
    (SEEN.includes(rule.evidence.kind) || proved.some(({ ruleId }) => provedBy(rule).includes(ruleId)));
  const scores = PACKS.map((pack) => {
    const rules = RULES.filter((rule) => rule.pack === pack && !isSuppressed(rule));
    return rules.length === 0 ? 0 : Math.round((100 * weightOf(rules.filter(canBeProved))) / weightOf(rules));
  });
  return { ...audit, proved: Math.min(audit.proved, Math.max(...scores)) };
}
