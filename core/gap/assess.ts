import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { POINTS, type Finding } from './finding.ts';
import type { GapReport, Issue } from './gap.ts';
import { gradeOf } from './grade.ts';
import { findingsOf, sourceOf, type Found } from './rules.ts';

/** Lowest score that the manifest, endpoint and reporter rows together can cause in manifest-static mode. */
export const STATIC_FLOOR = 45;
/** Maximum points that all "declared, not shown" issues cost together. */
export const MAX_NOT_SHOWN_POINTS = 20;

/** The gap report (shape A): the differences between declared and observed, and the resulting score. */
export function assess(manifest: Manifest, facts: Facts): GapReport {
  const findings = findingsOf(manifest, facts);
  const source = sourceOf(facts);
  const score = Math.max(0, 100 - pointsOf(findings, source));
  return { score, grade: gradeOf(score), source, issues: findings.map(issueOf) };
}

function pointsOf(findings: readonly Found[], source: GapReport['source']): number {
  const sum = (matches: (found: Found) => boolean): number =>
    findings.filter(matches).reduce((points, { severity }) => points + POINTS[severity], 0);
  const staticPoints = sum(({ part }) => part === 'static');
  const otherPoints = sum(({ part, isNotShown }) => part !== 'static' && isNotShown !== true);
  const notShownPoints = sum(({ isNotShown }) => isNotShown === true);
  return (
    (source === 'manifest-static' ? Math.min(staticPoints, 100 - STATIC_FLOOR) : staticPoints) +
    otherPoints +
    Math.min(notShownPoints, MAX_NOT_SHOWN_POINTS)
  );
}

function issueOf(finding: Finding): Issue {
  const { severity, property, description, recommendation, source } = finding;
  const issue: Issue = { severity, property, description, recommendation };
  return source === undefined ? issue : { ...issue, message: description, source };
}
