import { expect, test } from '@jest/globals';
import { conditionAnswer, verdictText } from './condition-answer.ts';

test.each([
  ['True', 'Yes'],
  ['False', 'No'],
  ['Unknown', 'Unknown'],
  // No condition yet.
  [undefined, 'Unknown'],
  // Of another version.
  ['', 'Unknown'],
  ['true', 'Unknown'],
  ['constructor', 'Unknown'],
])('a condition with the status %j says %s', (status, answer) => {
  expect(conditionAnswer(status)).toBe(answer);
});

test.each([
  ['True', 'yes: why'],
  ['False', 'no: why'],
  ['Unknown', 'unknown: why'],
])('a verdict with the status %s is one line', (status, text) => {
  expect(verdictText({ status, message: 'why' })).toBe(text);
});
