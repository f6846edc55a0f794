import { declaredNotChecked } from '../explore/declared-not-checked.ts';
import type { Grade } from '../gap/gap.ts';
import { gradeOf } from '../gap/grade.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { hasExpired } from '../proof/expiry.ts';
import { isTrusted } from '../proof/counted.ts';
import type { ProofOrigin, ProofWrites } from '../proof/proof.ts';
import { earnedTier, type Evidence } from './earned.ts';
import { isPack, PACKS, type Pack } from './packs.ts';
import { WEIGHTS, type Rule, type Tier } from './rule.ts';
import { RULES } from './rules.ts';
import { judgeSuppressions, type JudgedSuppression } from './suppressions.ts';

export interface Score {
  /** 0..100 */
  score: number;
  grade: Grade;
}

/** What came of one rule that counts. `origin`: of the proof, where `earned` is X; null: the record has none. */
export type Verdict =
  | { rule: Rule; passed: true; earned: Tier; origin?: ProofOrigin | null }
  /** `path`: the manifest path of what is wrong or missing. */
  | { rule: Rule; passed: false; path: string };

export interface AuditResult {
  agentName: string;
  version: string;
  /** The audited packs, in the order of PACKS. */
  packs: Pack[];
  /** The rules that count, in the order of the catalogue: those of the packs without the suppressed ones. */
  verdicts: Verdict[];
  suppressions: JudgedSuppression[];
  declared: Score;
  /** null: nobody was asked for evidence. */
  proved: Score | null;
  /** Ids of the rules that pass as declared and wait for a proof record. */
  pendingProofs: string[];
  /** Where proofs of the agent are written; null: no sidecar was asked. */
  proofWrites: ProofWrites | null;
  /** Ids of the rules with an unexpired local proof that does not count. */
  uncountedProofs: string[];
  /** Manifest paths that are declared and that nothing checks. */
  declaredNotChecked: string[];
}

export interface AuditOptions {
  /** Default: the manifest's, else all. */
  packs?: readonly Pack[];
  /** What the agent's sidecar knows; null: the manifest alone is audited. */
  evidence: Evidence | null;
  at: Date;
}

/** Holds a manifest against the compliance rules, and, where there is evidence, against what was shown of it. */
export function audit(manifest: Manifest, options: AuditOptions): AuditResult {
  const { evidence, at } = options;
  const packs = packsOf(manifest, options.packs ?? []);
  const audited = RULES.filter(({ pack }) => packs.includes(pack));
  const suppressions = judgeSuppressions(manifest, audited, at);
  const isSuppressed = ({ id }: Rule): boolean =>
    suppressions.some(({ rule, state }) => rule === id && state === 'active');
  const counted = audited.filter((rule) => !isSuppressed(rule));
  const verdicts = counted.map((rule): Verdict => {
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
    verdicts,
    suppressions,
    declared: scoreOf(verdicts, ({ passed }) => passed, 100),
    proved: evidence === null ? null : scoreOf(verdicts, (each) => each.passed && each.earned !== 'D', 0),
    pendingProofs: verdicts.flatMap((each) =>
      each.passed && each.rule.tier === 'X' && each.earned === 'D' ? [each.rule.id] : [],
    ),
    proofWrites: evidence?.trust.writes ?? null,
    uncountedProofs: evidence === null ? [] : uncounted(evidence, at),
    declaredNotChecked: declaredNotChecked(manifest),
  };
}

function uncounted({ proofs, trust }: Evidence, at: Date): string[] {
  const left = proofs.filter((proof) => !isTrusted(proof, trust) && !hasExpired(proof, at));
  return left.map(({ ruleId }) => ruleId);
}

function packsOf(manifest: Manifest, chosen: readonly Pack[]): Pack[] {
  const own = (manifest.spec.compliance?.packs ?? []).filter(isPack);
  const wanted = [chosen, own, PACKS].find((packs) => packs.length > 0) ?? PACKS;
  return PACKS.filter((pack) => wanted.includes(pack));
}

/** `ofNothing`: the score when no rule counts, because all are suppressed: nothing is violated, and nothing is shown. */
function scoreOf(
  verdicts: readonly Verdict[],
  counts: (verdict: Verdict) => boolean,
  ofNothing: number,
): Score {
  const total = weightOf(verdicts);
  const kept = weightOf(verdicts.filter(counts));
  const score = total === 0 ? ofNothing : Math.round((100 * kept) / total);
  return { score, grade: gradeOf(score) };
}

function weightOf(verdicts: readonly Verdict[]): number {
  return verdicts.reduce((sum, { rule }) => sum + WEIGHTS[rule.severity], 0);
}
