import type { Check } from '../health/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { hasExpired } from '../proof/expiry.ts';
import type { ProofRecord } from '../proof/proof.ts';
import type { EvidenceKind, Rule, Tier } from './rule.ts';

/** What a sidecar knows of its agent at one moment. */
export interface Evidence {
  checks: readonly Check[];
  /** Guardrail types that at least one entry of the audit ring was reported to have invoked. */
  guardrailsObserved: ReadonlySet<string>;
  proofs: readonly ProofRecord[];
}

/** The rule whose proof is a submitted evaluation. */
const EVALUATION_RULE = 'EVAL-01';

/**
 * By what a rule that passes is shown to hold: `D` it is declared and nothing more, `P` by checks, `B` by observation,
 * `X` by a proof. What was measured goes before what somebody says.
 */
export function earnedTier(rule: Rule, manifest: Manifest, evidence: Evidence, at: Date): Tier {
  const { kind } = rule.evidence;
  if (kind === 'none') return 'D';
  if (kind === 'check' && arePassing(rule.evidence, manifest, evidence.checks)) return 'P';
  if (
    kind === 'guardrail' &&
    rule.evidence.of(manifest).some((type) => evidence.guardrailsObserved.has(type))
  )
    return 'B';
  return isProved(rule, evidence.proofs, at) ? 'X' : 'D';
}

/** At least the checks that the declaration asks for, and none of their category that failed or was skipped. */
function arePassing(
  { category, of }: EvidenceKind & { kind: 'check' },
  manifest: Manifest,
  checks: readonly Check[],
): boolean {
  const ofCategory = checks.filter((check) => check.category === category);
  const wanted = of(manifest);
  return (
    wanted.length > 0 &&
    wanted.every((id) => ofCategory.some((check) => check.id === id)) &&
    ofCategory.every(({ status }) => status === 'pass')
  );
}

function isProved({ id, evidence }: Rule, proofs: readonly ProofRecord[], at: Date): boolean {
  const counting = evidence.kind === 'evaluation' ? [id, EVALUATION_RULE] : [id];
  return proofs.some((proof) => counting.includes(proof.ruleId) && !hasExpired(proof, at));
}
