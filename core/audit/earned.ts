import type { Check } from '../shapes/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { countedProofs, type ProofTrust } from '../evidence/counted-proofs.ts';
import type { ProofOrigin } from '../shapes/values.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import type { EvidenceKind, Rule, Tier } from './rule.ts';

/** The evidence that a sidecar has about its agent at one point in time. */
export interface Evidence {
  checks: readonly Check[];
  /** Guardrail types that at least one entry of the audit ring reports as invoked. */
  guardrailsObserved: ReadonlySet<string>;
  proofs: readonly ProofRecord[];
  /** Which of the proofs count. */
  trust: ProofTrust;
}

/** `origin`: origin of the proof that counts for tier X; null: the record has no origin. */
export type Earned = { tier: Exclude<Tier, 'X'> } | { tier: 'X'; origin: ProofOrigin | null };

/** The rule whose proof is a submitted evaluation. */
const EVALUATION_RULE = 'EVAL-01';

/**
 * The evidence tier of a rule that passes: `D` declared only, `P` checks, `B` observation, `X` proof.
 * Checks and observations take precedence over proofs.
 */
export function earnedTier(rule: Rule, manifest: Manifest, evidence: Evidence, at: Date): Earned {
  const { kind } = rule.evidence;
  if (kind === 'check' && arePassing(rule.evidence, manifest, evidence.checks)) return { tier: 'P' };
  if (
    kind === 'guardrail' &&
    rule.evidence.of(manifest).some((type) => evidence.guardrailsObserved.has(type))
  )
    return { tier: 'B' };
  const proof = countedProofs(evidence.proofs, evidence.trust, at).find(({ ruleId }) =>
    provedBy(rule).includes(ruleId),
  );
  return proof === undefined ? { tier: 'D' } : { tier: 'X', origin: proof.origin ?? null };
}

/** True when all checks that the declaration requires exist and every check of their category passes. */
function arePassing(
  { categories, of }: EvidenceKind & { kind: 'check' },
  manifest: Manifest,
  checks: readonly Check[],
): boolean {
  const required = of(manifest);
  const category = categories.find((each) => required.some((id) => id.startsWith(`${each}:`)));
  const ofCategory = checks.filter((check) => check.category === category);
  return (
    required.length > 0 &&
    required.every((id) => ofCategory.some((check) => check.id === id)) &&
    ofCategory.every(({ status }) => status === 'pass')
  );
}

/** Ids of the rules whose proof counts for `rule`; none: the rule is never proved. */
export function provedBy({ id, evidence }: Rule): string[] {
  if (evidence.kind === 'none') return [];
  return evidence.kind === 'evaluation' ? [id, EVALUATION_RULE] : [id];
}
