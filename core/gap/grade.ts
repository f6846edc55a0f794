import type { Grade } from './gap.ts';

/** Lowest score of each grade, best first. */
const BARS: readonly (readonly [Grade, number])[] = [
  ['A', 90],
  ['B', 75],
  ['C', 60],
  ['D', 45],
];

/** The lowest grade that counts as compliant where nothing else is set. */
export const DEFAULT_COMPLIANT_GRADE: Grade = 'B';

/** The grade of a score 0..100. */
export function gradeOf(score: number): Grade {
  return BARS.find(([, bar]) => score >= bar)?.[0] ?? 'F';
}

/** The lowest score that still has this grade. */
export function barOf(grade: Grade): number {
  return BARS.find(([name]) => name === grade)?.[1] ?? 0;
}
