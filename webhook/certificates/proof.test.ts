import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CANARY_CONDITION, passedWith } from '../../kube/canary-condition.ts';
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../../testing/fake-api-server.ts';
import { isProven } from './proof.ts';

let server: FakeApiServer;
let client: KubeClient;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = createKubeClient({ access: server.access, part: 'test' });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const leafUse = (isAsked: boolean) => ({
  isAsked: () => isAsked,
  serve: () => undefined,
  follow: () => undefined,
  around: (handler: never) => handler,
});
const ask = (policy: string | null = 'canary', isAsked = true) =>
  isProven(
    'PEM',
    { client, logger: silentLogger, policy, leafUse: leafUse(isAsked) },
    new AbortController().signal,
  );

function say(status: 'True' | 'False', message: string): void {
  const condition = { type: CANARY_CONDITION, status, reason: 'R', message, lastTransitionTime: '' };
  server.put(PATH, { metadata: { name: 'canary' }, status: { conditions: [condition] } });
}

test('is given by a canary that passed with just these authorities, and a question over the present certificate', async () => {
  expect(await ask()).toBe(false);
  say('True', passedWith('OLD PEM'));
  expect(await ask()).toBe(false);
  say('False', passedWith('PEM'));
  expect(await ask()).toBe(false);
  say('True', passedWith('PEM'));
  expect([await ask(), await ask('canary', false)]).toEqual([true, false]);
});

test('is not wanted where there is no canary', async () => {
  expect(await ask(null, false)).toBe(true);
});

test('is not given where the policy may not be read, which keeps nothing else up', async () => {
  server.fail({ when: () => true, answer: { status: 403 } });
  expect(await ask()).toBe(false);
});

test('is not known while the API server is away', async () => {
  server.fail({ when: () => true, answer: 'cut' });
  await expect(ask()).rejects.toThrow('does not answer');
});
