import { expect, test } from '@jest/globals';
import type { CheckStatus } from '../../core/facts/check.ts';
import type { CheckSeverity } from '../../core/shapes/values.ts';
import type { Check } from '../../core/shapes/health.ts';
import { sortChecks } from './sort-checks.ts';

test('failures come first, the severe ones before the others', () => {
  const check = (id: string, status: CheckStatus, severity: CheckSeverity): Check => ({
    ...{ id, status, severity },
    category: 'tool',
  });
  const sorted = sortChecks([
    check('b', 'pass', 'error'),
    check('d', 'fail', 'info'),
    check('c', 'skip', 'warning'),
    check('f', 'fail', 'error'),
    check('a', 'pass', 'error'),
    check('e', 'fail', 'error'),
  ]);
  expect(sorted.map(({ id }) => id)).toEqual(['e', 'f', 'd', 'c', 'a', 'b']);
});
