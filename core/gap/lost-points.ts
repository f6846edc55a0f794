import { POINTS } from './finding.ts';
import { isVerified } from './gap.ts';
import type { Issue } from '../shapes/gap.ts';

type ShownIssue = Pick<Issue, 'severity' | 'property' | 'description' | 'source'>;

/** A line for each issue, with the points that it costs. @param dim style of the description */
export function lostPointsLines(issues: readonly ShownIssue[], dim: (text: string) => string): string[] {
  const width = Math.max(...issues.map(({ property }) => property.length));
  return issues.map((issue) => {
    const points = isVerified(issue) ? POINTS[issue.severity] : 0;
    return `  ${`-${points}`.padStart(3)}  ${issue.property.padEnd(width)}  ${dim(issue.description)}`;
  });
}
