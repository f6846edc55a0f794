import { expect, test } from '@jest/globals';
import { conditionValue } from './condition-value.ts';

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
])('a condition with the status %j says %s', (status, value) => {
  expect(conditionValue(status)).toBe(value);
});
