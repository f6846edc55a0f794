import type { Grade } from '../shapes/values.ts';

/** Lowest score of each grade, best first. */
const MINIMUM_SCORES: readonly (readonly [Grade, number])[] = [
  ['A', 90],
  ['B', 75],
  ['C', 60],
  ['D', 45],
];

/** Default for the lowest grade that counts as compliant. */
export const DEFAULT_COMPLIANT_GRADE: Grade = 'B';

/** The grade of a score 0..100. */
export function gradeOf(score: number): Grade {
  return MINIMUM_SCORES.find(([, minimum]) => score >= minimum)?.[0] ?? 'F';
}

/** The lowest score that still has this grade. */
export function minimumScoreOf(grade: Grade): number {
  return MINIMUM_SCORES.find(([name]) => name === grade)?.[1] ?? 0;
}
