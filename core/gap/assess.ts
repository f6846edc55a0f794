import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { Finding } from './finding.ts';
import type { GapReport, Issue } from '../shapes/gap.ts';
import { gradeOf } from '../shapes/grade.ts';
import { lostPoints, type PointGroup } from './points.ts';
import { findingsOf, sourceOf, type Found } from './rules.ts';

/** The gap report (shape A): the differences between declared and observed, and the resulting score. */
export function assess(manifest: Manifest, facts: Facts): GapReport {
  const findings = findingsOf(manifest, facts);
  const source = sourceOf(facts);
  const counted = findings.map((found) => ({ severity: found.severity, group: groupOf(found) }));
  const score = Math.max(0, 100 - lostPoints(counted, source));
  return { score, grade: gradeOf(score), source, issues: findings.map(issueOf) };
}

function groupOf({ part, isNotShown }: Found): PointGroup {
  if (part === 'static') return 'static';
  return isNotShown === true ? 'not-shown' : 'other';
}

function issueOf(finding: Finding): Issue {
  const { severity, property, description, recommendation, source } = finding;
  const issue: Issue = { severity, property, description, recommendation };
  return source === undefined ? issue : { ...issue, message: description, source };
}
