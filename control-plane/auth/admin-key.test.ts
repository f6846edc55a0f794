import { expect, test } from '@jest/globals';
import { errorOf } from '../../dashboard/api/api-error.ts';
import { keysDisabled } from './admin-key.ts';

test('the dashboard recognises a control plane without an admin key by its response', () => {
  const problem = keysDisabled();
  expect(errorOf(problem.status, JSON.stringify(problem.toBody()))).toMatchObject({
    kind: 'disabled',
    detail: expect.stringContaining('PLATFORM_ADMIN_KEY'),
  });
});
