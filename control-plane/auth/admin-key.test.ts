import { expect, test } from '@jest/globals';
import { errorOf } from '../../dashboard/api/api-error.ts';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext } from '../context.ts';
import { requireAdminKey } from './admin-key.ts';

test('the dashboard recognises a control plane without an admin key by its response', () => {
  const metrics = { counter: () => ({ add: () => undefined }) };
  const handler = requireAdminKey({ adminKey: null, metrics } as unknown as ControlPlaneContext);
  let thrown: unknown;
  try {
    void handler({} as never, {} as never, () => undefined);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(Problem);
  const problem = thrown as Problem;
  expect(errorOf(problem.status, JSON.stringify(problem.toBody()))).toMatchObject({
    kind: 'disabled',
    detail: expect.stringContaining('PLATFORM_ADMIN_KEY'),
  });
});
