import { expect, test } from '@jest/globals';
import { CANARY_CONDITION, passedWith } from '../../kube/canary-condition.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { fakeClusterOfEachTest } from '../../testing/cluster/fake-cluster.ts';
import { isCurrentCaSufficient } from './current-ca.ts';

const cluster = fakeClusterOfEachTest();

const PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const leafUse = (isUsed: boolean) => ({
  isUsed: () => isUsed,
  serve: () => undefined,
  follow: () => undefined,
  around: (handler: never) => handler,
});
const check = (policy: string | null = 'canary', isUsed = true) =>
  isCurrentCaSufficient(
    'PEM',
    { client: cluster.client, logger: silentLogger, policy, leafUse: leafUse(isUsed) },
    new AbortController().signal,
  );

function setCanary(status: 'True' | 'False', message: string): void {
  const condition = { type: CANARY_CONDITION, status, reason: 'R', message, lastTransitionTime: '' };
  cluster.server.put(PATH, { metadata: { name: 'canary' }, status: { conditions: [condition] } });
}

test('is sufficient after a canary that passed with exactly this caBundle, and a review over the current certificate', async () => {
  expect(await check()).toBe(false);
  setCanary('True', passedWith('OLD PEM'));
  expect(await check()).toBe(false);
  setCanary('False', passedWith('PEM'));
  expect(await check()).toBe(false);
  setCanary('True', passedWith('PEM'));
  expect([await check(), await check('canary', false)]).toEqual([true, false]);
});

test('is not required without a canary', async () => {
  expect(await check(null, false)).toBe(true);
});

test('is not sufficient, without an error, if the policy cannot be read for lack of permission', async () => {
  cluster.server.fail({ when: () => true, response: { status: 403 } });
  expect(await check()).toBe(false);
});

test('throws while the API server is unavailable', async () => {
  cluster.server.fail({ when: () => true, response: 'cut' });
  await expect(check()).rejects.toThrow('did not respond');
});
