import { POINTS } from '../../core/gap/finding.ts';
import { isVerified } from '../../core/gap/gap.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { GRADES, type Grade, type ReportSource } from '../../core/shapes/values.ts';
import { gradeOf, minimumScoreOf } from '../../core/shapes/grade.ts';
import {
  limitOf,
  lostPoints,
  MAX_NOT_SHOWN_POINTS,
  POINT_GROUPS,
  pointsIn,
  STATIC_FLOOR,
  type CountedIssue,
  type PointGroup,
} from '../../core/gap/points.ts';

/** The part of a gap report from which its score is explained. */
export interface ScoredReport {
  score: number;
  source: ReportSource;
  issues: readonly Issue[];
  /** More than the number of `issues`: the list was cut. */
  issuesTotal?: number;
}

/** Points that a limit gives back. */
interface Returned {
  points: number;
  reason: string;
}

/** How the score follows from the issues: 100 - the points of `lost` + `returned` - `unexplained` = score. */
export interface ScoreExplanation {
  /** Worst first. */
  lost: { issue: Issue; points: number }[];
  returned: Returned[];
  /** Points that the issues do not explain; negative: the issues would cost more. */
  unexplained: number;
  /** Why there are such points; null: there are none. */
  unexplainedReason: string | null;
  /** Issues of the LLM analysis, which cost no points. */
  suggestions: Issue[];
  /** null: the grade is A. */
  next: NextGrade | null;
}

/** What has to be fixed to reach the next grade, if nothing else changes. */
export interface NextGrade {
  grade: Grade;
  /** Points that are missing. */
  missing: number;
  /** Issues of which one fix is enough. */
  alone: Issue[];
  /** Issues to fix together if none is enough alone; null: more than MAX_TOGETHER, or the issues do not explain the score. */
  together: Issue[] | null;
}

/** Longest list of issues to fix together. */
export const MAX_TOGETHER = 5;

/** Properties of the manifest, endpoint and reporter rows (core/gap). */
const STATIC_PROPERTIES: readonly string[] = [
  'manifest.invalid',
  'auditable',
  'evaluated',
  'agent.name-mismatch',
  'healthcheckable',
  'discoverable',
  'reporter.invalid',
];
const NOT_SHOWN_PROPERTY = /^(service|tool|memory|mcp):/;

const RETURNED_REASONS: Readonly<Record<PointGroup, string>> = {
  static: `Without a valid report of the agent, the issues of the manifest and the endpoints cost at most ${100 - STATIC_FLOOR} points together.`,
  'not-shown': `Issues "declared, not shown" cost at most ${MAX_NOT_SHOWN_POINTS} points together.`,
  other: '',
};

/** The group of an issue, from its property and severity. */
export function groupOf({ property, severity }: Pick<Issue, 'property' | 'severity'>): PointGroup {
  if (STATIC_PROPERTIES.includes(property) || property.startsWith('discoverable.')) return 'static';
  return severity === 'low' && NOT_SHOWN_PROPERTY.test(property) ? 'not-shown' : 'other';
}

/** Explains the score of a gap report by its issues. */
export function explainScore(report: ScoredReport): ScoreExplanation {
  const { score, source } = report;
  const issues = report.issues.filter(isVerified).map((issue) => ({ ...counted(issue), issue }));
  const lost = issues
    .map(({ issue }) => ({ issue, points: POINTS[issue.severity] }))
    .sort((a, b) => b.points - a.points);
  const points = lostPoints(issues, source);
  const unexplained = 100 - score - Math.min(100, points);
  return {
    lost,
    returned: returnedOf(issues, source, points),
    unexplained,
    unexplainedReason: unexplained === 0 ? null : reasonOf(report),
    suggestions: report.issues.filter((issue) => !isVerified(issue)),
    next: nextGradeOf(score, issues, source),
  };
}

function counted({ property, severity }: Issue): CountedIssue {
  return { severity, group: groupOf({ property, severity }) };
}

function returnedOf(issues: readonly CountedIssue[], source: ReportSource, points: number): Returned[] {
  const byGroup = POINT_GROUPS.map((group) => {
    const limit = limitOf(group, source);
    const above = limit === null ? 0 : pointsIn(group, issues) - limit;
    return { points: Math.max(0, above), reason: RETURNED_REASONS[group] };
  });
  const belowZero = { points: Math.max(0, points - 100), reason: 'A score is never below 0.' };
  return [...byGroup, belowZero].filter((each) => each.points > 0);
}

function reasonOf({ issues, issuesTotal = issues.length }: ScoredReport): string {
  return issuesTotal > issues.length
    ? `The report has ${issuesTotal} issues, and this store keeps the worst ${issues.length}.`
    : 'The sender computed the score with other rules, for example because its version is older or newer.';
}

type CountedEntry = CountedIssue & { issue: Issue };

function nextGradeOf(score: number, issues: readonly CountedEntry[], source: ReportSource): NextGrade | null {
  const grade = GRADES[GRADES.indexOf(gradeOf(score)) - 1];
  if (grade === undefined) return null;
  const missing = minimumScoreOf(grade) - score;
  const points = lostPoints(issues, source);
  // A score of 0 may hide points below 0, which a fix does not show.
  const hidden = Math.max(0, points - 100);
  const gainOf = (fixed: readonly CountedEntry[]): number =>
    points - lostPoints(without(issues, fixed), source) - hidden;
  const alone = issues.filter((each) => gainOf([each]) >= missing);
  return {
    grade,
    missing,
    alone: alone.map(({ issue }) => issue),
    together: alone.length > 0 ? null : smallestSet(issues, missing, gainOf),
  };
}

function without(issues: readonly CountedEntry[], fixed: readonly CountedEntry[]): CountedEntry[] {
  return issues.filter((each) => !fixed.includes(each));
}

/** Adds the issue with the greatest gain until the gain is enough. A limit can make the first gains 0. */
function smallestSet(
  issues: readonly CountedEntry[],
  missing: number,
  gainOf: (fixed: readonly CountedEntry[]) => number,
): Issue[] | null {
  const chosen: CountedEntry[] = [];
  while (chosen.length < MAX_TOGETHER) {
    const best = without(issues, chosen)
      .map((each) => ({ each, gain: gainOf([...chosen, each]), points: POINTS[each.severity] }))
      .sort((a, b) => b.gain - a.gain || b.points - a.points)[0];
    if (best === undefined) return null;
    chosen.push(best.each);
    if (best.gain >= missing) return chosen.map(({ issue }) => issue);
  }
  return null;
}
