import type { Check } from '../health/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { countedProofs, type ProofTrust } from '../proof/counted.ts';
import type { ProofOrigin, ProofRecord } from '../proof/proof.ts';
import type { EvidenceKind, Rule, Tier } from './rule.ts';

/** What a sidecar knows of its agent at one moment. */
export interface Evidence {
  checks: readonly Check[];
  /** Guardrail types that at least one entry of the audit ring was reported to have invoked. */
  guardrailsObserved: ReadonlySet<string>;
  proofs: readonly ProofRecord[];
  /** Which of the proofs count. */
  trust: ProofTrust;
}

/** `origin`: of the proof that counts for tier X; null: the record has none. */
export type Earned = { tier: Exclude<Tier, 'X'> } | { tier: 'X'; origin: ProofOrigin | null };

/** The rule whose proof is a submitted evaluation. */
const EVALUATION_RULE = 'EVAL-01';

/**
 * By what a rule that passes is shown to hold: `D` it is declared and nothing more, `P` by checks, `B` by observation,
 * `X` by a proof. What was measured goes before what somebody says.
 */
export function earnedTier(rule: Rule, manifest: Manifest, evidence: Evidence, at: Date): Earned {
  const { kind } = rule.evidence;
  if (kind === 'none') return { tier: 'D' };
  if (kind === 'check' && arePassing(rule.evidence, manifest, evidence.checks)) return { tier: 'P' };
  if (
    kind === 'guardrail' &&
    rule.evidence.of(manifest).some((type) => evidence.guardrailsObserved.has(type))
  )
    return { tier: 'B' };
  const proof = countedProofs(evidence.proofs, evidence.trust, at).find(({ ruleId }) =>
    ruleIdsOf(rule).includes(ruleId),
  );
  return proof === undefined ? { tier: 'D' } : { tier: 'X', origin: proof.origin ?? null };
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

/** The rules whose proof counts for this one. */
function ruleIdsOf({ id, evidence }: Rule): string[] {
  return evidence.kind === 'evaluation' ? [id, EVALUATION_RULE] : [id];
}
