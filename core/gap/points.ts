import type { ReportSource, Severity } from '../shapes/values.ts';
import { POINTS } from './finding.ts';

/** Lowest score that the manifest, endpoint and reporter rows together can cause in manifest-static mode. */
export const STATIC_FLOOR = 45;
/** Maximum points that all "declared, not shown" issues cost together. */
export const MAX_NOT_SHOWN_POINTS = 20;

/** How an issue counts. `static`: manifest, endpoint and reporter rows; `not-shown`: declared, but its check is skipped. */
export const POINT_GROUPS = ['static', 'not-shown', 'other'] as const;
export type PointGroup = (typeof POINT_GROUPS)[number];

export interface CountedIssue {
  severity: Severity;
  group: PointGroup;
}

/** The most points that the issues of a group cost together; null: no limit. */
export function limitOf(group: PointGroup, source: ReportSource): number | null {
  if (group === 'not-shown') return MAX_NOT_SHOWN_POINTS;
  return group === 'static' && source === 'manifest-static' ? 100 - STATIC_FLOOR : null;
}

/** The points of the issues of a group, without the limit of the group. */
export function pointsIn(group: PointGroup, issues: readonly CountedIssue[]): number {
  return issues.reduce((sum, issue) => (issue.group === group ? sum + POINTS[issue.severity] : sum), 0);
}

/** The points that the issues cost together, with the limits of the groups. More than 100 points give the score 0. */
export function lostPoints(issues: readonly CountedIssue[], source: ReportSource): number {
  return POINT_GROUPS.reduce((sum, group) => {
    const points = pointsIn(group, issues);
    return sum + Math.min(points, limitOf(group, source) ?? points);
  }, 0);
}
