import { expect, test } from '@jest/globals';
import { activityOf } from './activity.ts';

test.each([
  ['ScaledToZero', 'scaled-to-zero'],
  ['Idle', 'idle'],
  ['Stale', 'running'],
  ['constructor', 'running'],
])('activityOf maps the Reporting reason %s to %s', (reason, expected) => {
  const condition = {
    type: 'Reporting',
    status: 'False',
    reason,
    message: '',
    lastTransitionTime: '',
  } as const;
  expect(activityOf({ phase: 'Pending', conditions: [condition] }, undefined)).toBe(expected);
});
