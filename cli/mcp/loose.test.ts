import { expect, test } from '@jest/globals';
import * as z from 'zod';
import { storedGap } from '../../core/shapes/stored.ts';
import { loose } from './loose.ts';

const REPORT = z.object(loose(storedGap, ['score', 'grade']));

test('accepts the reports of other versions, and drops members that it does not know', () => {
  const newer = {
    score: 5.5,
    grade: 'G',
    issues: [{ severity: 'fatal', since: 1 }],
    evidence: { items: null },
  };
  const { since: _, ...issue } = newer.issues[0]!;
  expect(REPORT.parse({ ...newer, other: 1 })).toEqual({ ...newer, issues: [issue] });
});

test('rejects a report without its required members, or with members of another type', () => {
  const paths = (value: object) => REPORT.safeParse(value).error?.issues.map(({ path }) => path.join('.'));
  expect(paths({})).toEqual(['score', 'grade']);
  expect(paths({ score: 1, grade: 'A', issues: [5], audit: 'x' })).toEqual(['issues.0', 'audit']);
});

test('describes each member, with the values of closed lists', () => {
  const { properties } = z.toJSONSchema(REPORT) as { properties: Record<string, { description: string }> };
  expect(properties['source']?.description).toMatch(/One of manifest-static, agent-sdk\.$/);
});
