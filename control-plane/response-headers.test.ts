import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMetrics } from '../runtime/metrics.ts';
import { ADMIN_KEY, startControlPlaneRig, type ControlPlaneRig } from '../testing/fleet/control-plane-rig.ts';
import { controlPlaneRoutes } from './app.ts';
import type { ControlPlaneContext } from './context.ts';

const ROUTES = controlPlaneRoutes({ metrics: createMetrics() } as ControlPlaneContext).map(
  ({ method, path, access }) => ({
    ...{ method, access },
    path: path.replace(':ruleId', 'EVAL-01').replaceAll(/:\w+/g, 'shop'),
  }),
);

let rig: ControlPlaneRig;
let apiKey: string;
beforeAll(async () => {
  rig = await startControlPlaneRig();
  ({ apiKey } = await rig.register('shop'));
  await rig.heartbeat(apiKey);
});
afterAll(() => rig.close());

/** HEAD, because the stream does not end. Its response has the head of GET. */
const verbOf = (method: string): string => (method === 'GET' ? 'HEAD' : method);

test.each(ROUTES)(
  '$method $path ($access) has nosniff, and no-store if it needs or gives a credential',
  async (route) => {
    const { method, path, access } = route;
    for (const headers of [{ 'x-admin-key': ADMIN_KEY, authorization: `Bearer ${apiKey}` }, {}]) {
      const sent = { headers: { ...headers }, ...(method !== 'GET' && { body: {} }) };
      const response = await rig.send(verbOf(method), path, sent);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const isStored = response.headers.get('cache-control')?.includes('no-store') !== true;
      expect(isStored).toBe(access === 'open' && !path.startsWith('/auth/'));
    }
  },
);

test.each([
  ['GET', '/nothing', 404],
  ['PUT', '/api/v1/agents', 405],
  ['GET', '/api/v1/agents/%', 400],
])('%s %s is %d with nosniff', async (method, path, status) => {
  const response = await rig.send(method, path);
  expect([response.status, response.headers.get('x-content-type-options')]).toEqual([status, 'nosniff']);
});
