import { describe, expect, test } from '@jest/globals';
import { minimumScoreOf, gradeOf } from './grade.ts';

describe('grade', () => {
  test.each([
    [100, 'A'],
    [90, 'A'],
    [89, 'B'],
    [75, 'B'],
    [74, 'C'],
    [60, 'C'],
    [59, 'D'],
    [45, 'D'],
    [44, 'F'],
    [0, 'F'],
  ])('of score %i is %s', (score, grade) => {
    expect(gradeOf(score)).toBe(grade);
  });

  test.each(['A', 'B', 'C', 'D', 'F'] as const)('%s is the grade of its minimum score', (grade) => {
    expect(gradeOf(minimumScoreOf(grade))).toBe(grade);
  });
});
