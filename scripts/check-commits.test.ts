import { expect, test } from '@jest/globals';
import { messageProblem } from './check-commits.ts';

test.each([
  ['webhook: reject pods without a manifest', null],
  ['e2e/churn: report the writer of duplicate Events\n\nThe count alone named no cause.', null],
  ['Fix the lease', 'the subject is not "component: imperative change"'],
  ['webhook: fixes the lease', '"fixes" is not an imperative'],
  ['webhook: reject pods.', 'the subject ends with a punctuation mark'],
  ['webhook: reject pods\nwithout a manifest', 'the line after the subject is not empty'],
  [`docs: ${'x'.repeat(70)}`, 'the subject has 76 characters, more than 72'],
])('%j: %s', (message, problem) => {
  expect(messageProblem(message)).toBe(problem);
});
