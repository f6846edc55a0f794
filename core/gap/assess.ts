import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { POINTS, type Finding } from './finding.ts';
import type { GapReport, Issue } from './gap.ts';
import { gradeOf } from './grade.ts';
import { findingsOf, sourceOf, type Found } from './rules.ts';

/** In manifest-static mode the rows of manifest, endpoints and reporter together leave at least this score. */
export const STATIC_FLOOR = 45;
/** The issues "declared, not shown" cost at most this together. */
export const MAX_NOT_SHOWN_POINTS = 20;

/** The gap report (shape A): what is declared and not so, and the score that is left of 100. */
export function assess(manifest: Manifest, facts: Facts): GapReport {
  const findings = findingsOf(manifest, facts);
  const source = sourceOf(facts);
  const score = Math.max(0, 100 - pointsOf(findings, source));
  return { score, grade: gradeOf(score), source, issues: findings.map(issueOf) };
}

function pointsOf(findings: readonly Found[], source: GapReport['source']): number {
  const sum = (of: (found: Found) => boolean): number =>
    findings.filter(of).reduce((points, { severity }) => points + POINTS[severity], 0);
  const ofStatic = sum(({ part }) => part === 'static');
  const ofOthers = sum(({ part, isNotShown }) => part !== 'static' && isNotShown !== true);
  const ofNotShown = sum(({ isNotShown }) => isNotShown === true);
  return (
    (source === 'manifest-static' ? Math.min(ofStatic, 100 - STATIC_FLOOR) : ofStatic) +
    ofOthers +
    Math.min(ofNotShown, MAX_NOT_SHOWN_POINTS)
  );
}

function issueOf(finding: Finding): Issue {
  const { severity, property, description, recommendation, source } = finding;
  const issue: Issue = { severity, property, description, recommendation };
  return source === undefined ? issue : { ...issue, message: description, source };
}
