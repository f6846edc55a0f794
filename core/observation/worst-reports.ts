import { gradeOf } from '../shapes/grade.ts';
import { isVerified } from '../gap/gap.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { cut } from '../untrusted/fields.ts';
import { present } from '../untrusted/present.ts';
import type { CriticalIssue, WorstReport } from '../shapes/observation.ts';
import type { InstanceStatus } from '../shapes/instance.ts';

/** How long a report counts, in milliseconds. */
const KEEP_MS = 24 * 3_600_000;
/** Limits of the CRD. */
const MAX_MANIFESTS = 5;
const MAX_ISSUES = 10;
const MAX_PROPERTY = 200;

/**
 * The worst reports after a heartbeat. A restart empties what a sidecar has observed, so its next report may be perfect; what it
 * reported before stays here. Each manifest has its own record, because a new manifest can be the fix. Only heartbeats change the
 * records, so that elapsed time alone never causes a write.
 */
export function worstReports(
  known: readonly WorstReport[] | undefined,
  { gap, manifestHash }: Pick<Heartbeat, 'gap' | 'manifestHash'>,
  at: Date,
): WorstReport[] | undefined {
  const recent = (known ?? []).flatMap((report) => recentPart(report, at) ?? []);
  const before = recent.find((report) => (report.manifestHash ?? null) === manifestHash);
  const others = recent.filter((report) => report !== before);
  const now = at.toISOString();
  const seen = gap.issues
    .filter((issue) => issue.severity === 'critical' && isVerified(issue))
    .map(({ property }): CriticalIssue => ({
      property: cut(property, MAX_PROPERTY),
      at: now,
    }));
  const earlier = (before?.criticalIssues ?? []).filter(
    (issue) => !seen.some(({ property }) => property === issue.property),
  );
  const isWorse = before === undefined || gap.score <= before.score || isOld(before.at, at);
  const worst: WorstReport = {
    ...present({ manifestHash }),
    ...(isWorse ? { score: gap.score, at: now } : { score: before.score, at: before.at }),
    grade: gradeOf(isWorse ? gap.score : before.score),
    criticalIssues: [...seen, ...earlier].slice(0, MAX_ISSUES),
  };
  const own = worst.score === 100 && worst.criticalIssues.length === 0 ? [] : [worst];
  const all = [...own, ...others.slice(0, MAX_MANIFESTS - own.length)];
  return all.length === 0 ? undefined : all.sort((a, b) => a.score - b.score || compareHash(a, b));
}

/** The critical issues of the last 24 hours under the manifests that these instances have. */
export function recentCriticalIssues(
  worst: readonly WorstReport[] = [],
  live: readonly InstanceStatus[],
): string[] {
  const current = worst.filter(({ manifestHash }) =>
    live.some((instance) => instance.manifestHash === manifestHash),
  );
  return [
    ...new Set(current.flatMap((report) => report.criticalIssues.map(({ property }) => property))),
  ].sort();
}

const isOld = (time: string, at: Date): boolean => at.getTime() - Date.parse(time) > KEEP_MS;

/** Without what is older than 24 hours; null: nothing is left. A clock that was set back must not extend the time. */
function recentPart(report: WorstReport, at: Date): WorstReport | null {
  const notAfter = (time: string): string => (Date.parse(time) > at.getTime() ? at.toISOString() : time);
  const criticalIssues = report.criticalIssues
    .filter((issue) => !isOld(issue.at, at))
    .map((issue) => ({ ...issue, at: notAfter(issue.at) }));
  if (criticalIssues.length === 0 && isOld(report.at, at)) return null;
  return { ...report, at: notAfter(report.at), criticalIssues };
}

const compareHash = (a: WorstReport, b: WorstReport): number =>
  (a.manifestHash ?? '') < (b.manifestHash ?? '') ? -1 : 1;
