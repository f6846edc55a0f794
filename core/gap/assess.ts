import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { POINTS, type Finding } from './finding.ts';
import type { GapReport, Issue } from './gap.ts';
import { gradeOf } from './grade.ts';
import { findingsOf, sourceOf } from './rules.ts';

/** The gap report (shape A): what is declared and not so, and the score that is left of 100. */
export function assess(manifest: Manifest, facts: Facts): GapReport {
  const findings = findingsOf(manifest, facts);
  const lost = findings.reduce((sum, finding) => sum + POINTS[finding.severity], 0);
  const score = Math.max(0, 100 - lost);
  return { score, grade: gradeOf(score), source: sourceOf(facts), issues: findings.map(issueOf) };
}

function issueOf(finding: Finding): Issue {
  const { severity, property, description, recommendation, source } = finding;
  const issue: Issue = { severity, property, description, recommendation };
  return source === undefined ? issue : { ...issue, message: description, source };
}
