import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../runtime/clock.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { fakeClusterOfEachTest } from '../../testing/cluster/fake-cluster.ts';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import { until } from '../../testing/time/until.ts';
import { createWebhookApp } from '../app.ts';
import { ManifestGate } from './gate.ts';

const POLICIES = '/apis/platform.io/v1/agentpolicies';
const NAMESPACES = '/api/v1/namespaces';
const MODELS = { id: 'models', action: 'Deny', models: { allowed: ['openai/*'] } };
const policyOf = (rules: object[], spec: object = {}) => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentPolicy',
  metadata: { name: 'production' },
  spec: { rules, ...spec },
});
const manifestOf = (vendor: string, rest = ''): string =>
  `apiVersion: platform.io/v1
kind: PlatformAgent
metadata: {name: chat, version: 1.0.0, description: Answers.}
spec:
  model: {provider: ${vendor}, id: m, apiKey: $env:KEY}
${rest}`;
const reviewOf = (object: object, kind = 'ConfigMap') => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    ...{ uid: 'u-1', operation: 'CREATE', namespace: 'team', kind: { group: '', version: 'v1', kind } },
    object,
  },
});
const withText = (text: string) => reviewOf({ data: { 'agent.yaml': text } });

interface Response {
  status: number;
  body: {
    detail?: string;
    response?: { allowed: boolean; warnings?: string[]; status?: { message: string } };
  };
}

describe('reviews of manifests', () => {
  const cluster = fakeClusterOfEachTest();
  let gate: ManifestGate;
  let worker: ManifestWorker;
  let listener: Listener;
  let warned: unknown[];

  beforeEach(async () => {
    warned = [];
    const logger = {
      ...silentLogger,
      warn: (message: string, fields?: object) => warned.push([message, fields]),
    };
    worker = new ManifestWorker();
    gate = new ManifestGate({ client: cluster.client, logger, clock: systemClock }, worker);
    const handler = createWebhookApp({
      ...{ logger: silentLogger, metrics: createMetrics(), clock: systemClock, organisation: gate },
      settings: () => injectionSettings(),
      unready: () => null,
    });
    listener = await listen({ handler, port: 0, host: '127.0.0.1' });
    cluster.server.put(NAMESPACES, { metadata: { name: 'team' } });
  });
  afterEach(async () => {
    await gate.close();
    await listener.close(0);
  });

  async function post(path: string, body: object): Promise<Response> {
    const response = await fetch(`http://127.0.0.1:${listener.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Response['body'] };
  }
  const validate = (body: object) => post('/validate/manifest?timeout=5s', body);
  const messageOf = async (body: object) => (await validate(body)).body.response?.status?.message;

  async function startWith(...policies: ReturnType<typeof policyOf>[]): Promise<void> {
    for (const policy of policies) cluster.server.put(POLICIES, policy);
    gate.start();
    await gate.synced();
  }

  test('get 500 while the policies are not known, and pods are injected', async () => {
    expect(await validate(withText(manifestOf('openai')))).toMatchObject({
      status: 500,
      body: { detail: 'the AgentPolicies are not known yet; try again' },
    });
    const pod = await post('/mutate/pod', reviewOf(optedInPod(), 'Pod'));
    expect(pod.body.response).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
    expect((await fetch(`http://127.0.0.1:${listener.port}/readyz`)).status).toBe(200);
  });

  test('follow the changes of the policies', async () => {
    await startWith();
    expect((await validate(withText('any'))).body.response).toEqual({ uid: 'u-1', allowed: true });
    cluster.server.put(POLICIES, policyOf([MODELS]));
    await until(async () => (await messageOf(withText(manifestOf('anthropic')))) !== undefined);
    expect(await messageOf(withText(manifestOf('anthropic')))).toBe(
      'agent chat breaks 1 organisation rule:\n  production/models (high) spec.model.id: model anthropic/m is not one of openai/*',
    );
    expect((await validate(withText(manifestOf('openai')))).body.response).toEqual({
      uid: 'u-1',
      allowed: true,
    });
    cluster.server.remove(POLICIES, 'production');
    await until(async () => (await messageOf(withText(manifestOf('anthropic')))) === undefined);
  });

  test('warn of a policy that cannot be parsed, which is also logged', async () => {
    await startWith(policyOf([{ id: 'colour', action: 'Deny', colour: { allowed: ['red'] } }]));
    const { response } = (await validate(withText(manifestOf('openai')))).body;
    expect(response).toEqual({ uid: 'u-1', allowed: true, warnings: [expect.any(String)] });
    expect(response?.warnings?.[0]).toMatch(
      /^organisation rules of production were not judged: the policy is not valid: spec\.rules\[0\]/,
    );
    expect(warned).toContainEqual([
      'agent policy is not valid',
      expect.objectContaining({ policy: 'production' }),
    ]);
  });

  test('get 500 for a namespace whose labels are not known', async () => {
    cluster.server.remove(NAMESPACES, 'team');
    await startWith(policyOf([MODELS]));
    expect(await validate(withText(manifestOf('openai')))).toMatchObject({
      status: 500,
      body: { detail: 'the namespace team does not exist' },
    });
  });

  test.each<[string, object, number]>([
    ['another kind', reviewOf({ data: { 'agent.yaml': 'x' } }, 'Secret'), 200],
    ['a ConfigMap without a manifest', reviewOf({ data: { 'app.yaml': 'x' } }), 200],
    ['a ConfigMap without data', reviewOf({}), 200],
    ['a manifest that is not text', reviewOf({ data: { 'agent.yaml': 7 } }), 400],
    ['data that is a list', reviewOf({ data: [] }), 400],
    ['no request', { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }, 400],
  ])('of %s', async (_, body, status) => {
    await startWith(policyOf([MODELS]));
    const response = await validate(body);
    expect([response.status, response.body.response?.allowed]).toEqual([
      status,
      status === 200 ? true : undefined,
    ]);
  });

  test('reject a manifest that takes too long to parse or to judge', async () => {
    await startWith(policyOf([MODELS]));
    for (const step of ['judge', 'parse'] as const) {
      worker[step] = () => Promise.resolve(null);
      expect(await messageOf(withText(manifestOf('openai')))).toBe(
        'agent.yaml takes too long to check, so the organisation rules cannot be checked',
      );
    }
  });

  test('of 20 large manifests do not delay the review of a pod', async () => {
    await startWith(policyOf([MODELS]));
    const tools = Array.from({ length: 5_800 }, (_, index) => `tool_${index}`).join(', ');
    const text = manifestOf('anthropic', `  egress: {tools: [${tools}]}`);
    expect(text.length).toBeGreaterThan(60_000);
    let judged = 0;
    const messages = Array.from({ length: 20 }, () => messageOf(withText(text)).finally(() => (judged += 1)));
    await until(() => Promise.resolve(judged > 0));
    const before = judged;
    for (let count = 0; count < 10; count += 1) {
      const pod = await post('/mutate/pod', reviewOf(optedInPod(), 'Pod'));
      expect(pod.body.response?.allowed).toBe(true);
    }
    // A review that waited for the thread of the manifests would end after a manifest, ten of them after ten.
    expect(judged - before).toBeLessThan(5);
    expect(new Set(await Promise.all(messages))).toEqual(
      new Set([expect.stringContaining('agent chat breaks 1 organisation rule')]),
    );
  });
});
