import { declaredNotChecked } from './declared-not-checked.ts';
import { type Grade, type ProofOrigin, PACKS, type Pack } from '../shapes/values.ts';
import { gradeOf } from '../shapes/grade.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { hasExpired, isValid } from '../evidence/proof-expiry.ts';
import { isTrusted } from '../evidence/counted-proofs.ts';
import type { ProofWrites } from '../evidence/proof.ts';
import { earnedTier, type Evidence } from './earned.ts';
import { weightOf, type Rule, type Tier } from './rule.ts';
import { RULES } from './rules.ts';
import { excludesRule, judgeSuppressions } from './suppressions.ts';
import type { EvaluatedSuppression } from '../shapes/audit.ts';

export interface Score {
  /** 0..100 */
  score: number;
  grade: Grade;
}

/** The result of one counted rule. `origin`: origin of the proof when `earned` is X; null: the record has no origin. */
export type RuleResult =
  | { rule: Rule; passed: true; earned: Tier; origin?: ProofOrigin | null }
  /** `path`: manifest path of the invalid or missing value. */
  | { rule: Rule; passed: false; path: string };

export interface AuditResult {
  agentName: string;
  version: string;
  /** The audited packs, in the order of PACKS. */
  packs: Pack[];
  /** One per rule of the audited packs that is not suppressed, in catalogue order. */
  results: RuleResult[];
  suppressions: EvaluatedSuppression[];
  declared: Score;
  /** null: the audit had no evidence. */
  proved: Score | null;
  /** Ids of the rules that pass as declared but still need a proof record. */
  pendingProofs: string[];
  /** Where proofs of the agent are written; null: the audit had no evidence. */
  proofWrites: ProofWrites | null;
  /** Ids of the rules with an unexpired local proof that does not count. */
  uncountedProofs: string[];
  /** Ids of the rules with an unexpired proof that does not count because a tested value has changed. */
  staleProofs: string[];
  /** Manifest paths that are declared but not checked. */
  declaredNotChecked: string[];
}

export interface AuditOptions {
  /** Default: the packs that the manifest names, else all packs. */
  packs?: readonly Pack[];
  /** Evidence from the agent's sidecar; null: only the manifest is audited. */
  evidence: Evidence | null;
  at: Date;
}

/** Audits a manifest against the compliance rules. With evidence, it also computes the proved score. */
export function audit(manifest: Manifest, options: AuditOptions): AuditResult {
  const { evidence, at } = options;
  const packs = packsOf(manifest, options.packs ?? []);
  const audited = RULES.filter(({ pack }) => packs.includes(pack));
  const suppressions = judgeSuppressions(manifest, audited, at);
  const isSuppressed = ({ id }: Rule): boolean =>
    suppressions.some(({ rule, state }) => rule === id && excludesRule(state));
  const counted = audited.filter((rule) => !isSuppressed(rule));
  const results = counted.map((rule): RuleResult => {
    const path = rule.violatedAt(manifest);
    if (path !== null) return { rule, passed: false, path };
    if (evidence === null) return { rule, passed: true, earned: 'D' };
    const { tier: earned, ...proof } = earnedTier(rule, manifest, evidence, at);
    return { rule, passed: true, earned, ...proof };
  });
  return {
    agentName: manifest.metadata.name,
    version: manifest.metadata.version,
    packs,
    results,
    suppressions,
    declared: declaredScore(manifest, counted),
    proved:
      evidence === null
        ? null
        : scoreOf(
            counted,
            results.flatMap((each) => (each.passed && each.earned !== 'D' ? [each.rule] : [])),
            0,
          ),
    pendingProofs: results.flatMap((each) =>
      each.passed && each.rule.tier === 'X' && each.earned === 'D' ? [each.rule.id] : [],
    ),
    proofWrites: evidence?.trust.writes ?? null,
    uncountedProofs: evidence === null ? [] : uncounted(evidence, at),
    staleProofs: evidence === null ? [] : stale(evidence, at),
    declaredNotChecked: declaredNotChecked(manifest),
  };
}

function uncounted({ proofs, trust }: Evidence, at: Date): string[] {
  const untrusted = proofs.filter((proof) => !isTrusted(proof, trust) && isValid(proof, at));
  return untrusted.map(({ ruleId }) => ruleId);
}

function stale({ proofs }: Evidence, at: Date): string[] {
  const unexpired = proofs.filter((proof) => proof.state === 'stale' && !hasExpired(proof, at));
  return unexpired.map(({ ruleId }) => ruleId);
}

function packsOf(manifest: Manifest, chosen: readonly Pack[]): Pack[] {
  const own = manifest.spec.compliance?.packs ?? [];
  const wanted = [chosen, own, PACKS].find((packs) => packs.length > 0) ?? PACKS;
  return PACKS.filter((pack) => wanted.includes(pack));
}

/** The declared score of a manifest by these rules. */
export function declaredScore(manifest: Manifest, rules: readonly Rule[]): Score {
  const passed = rules.filter((rule) => rule.violatedAt(manifest) === null);
  return scoreOf(rules, passed, 100);
}

/** `emptyScore`: the score when all rules are suppressed. No rule is violated then, and no rule is proved. */
function scoreOf(rules: readonly Rule[], passed: readonly Rule[], emptyScore: number): Score {
  const total = weightOf(rules);
  const score = total === 0 ? emptyScore : Math.round((100 * weightOf(passed)) / total);
  return { score, grade: gradeOf(score) };
}
