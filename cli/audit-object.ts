import type { AuditResult } from '../core/audit/audit.ts';
import { fixesOf } from '../core/audit/fixes.ts';
import type { Manifest } from '../core/manifest/manifest.ts';

/** Result of `platform audit --json`; the proved score only if evidence was requested. */
export function auditObject(manifest: Manifest, result: AuditResult): Record<string, unknown> {
  const { declared, proved, results, suppressions, pendingProofs, uncountedProofs, staleProofs } = result;
  const passedRules = results.filter(({ passed }) => passed).length;
  return {
    overallScore: declared.score,
    grade: declared.grade,
    ...(proved === null
      ? {}
      : {
          provedScore: proved.score,
          provedGrade: proved.grade,
          pendingProofCount: pendingProofs.length,
          countedProofs: results.flatMap(countedOf),
          uncountedProofs,
          staleProofs,
        }),
    passedRules,
    totalRules: results.length,
    violations: results.flatMap((each) => (each.passed ? [] : [violationOf(each)])),
    fixes: fixesOf(manifest, result),
    suppressions,
  };
}

/** A rule with a counted proof, and the origin of the proof. */
function countedOf(each: AuditResult['results'][number]): { ruleId: string; origin: string | null }[] {
  if (!each.passed || each.earned !== 'X') return [];
  return [{ ruleId: each.rule.id, origin: each.origin ?? null }];
}

function violationOf({ rule, path }: AuditResult['results'][number] & { passed: false }): object {
  const { id, severity, pack, tier, message, recommendation, references } = rule;
  return { ruleId: id, severity, pack, tier, message, path, recommendation, references };
}
