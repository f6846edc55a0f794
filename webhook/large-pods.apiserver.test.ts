// Pods whose AdmissionReview is much larger than the pod, because the API server escapes characters to six bytes in JSON.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { silentLogger } from '../runtime/logger.ts';
import { optedInPod } from '../testing/pods.ts';
import { WebhookCluster } from '../testing/webhook-cluster.ts';
import { readConfig } from './config.ts';
import { API_SERVER_LIMIT } from './routes/mutate.ts';
import { startWebhook, type Webhook } from './start.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const NAME = 'TEXT';
/** A pod that opts in, with about this many bytes in the request to the API server. */
const podOf = (bytes: number) =>
  optedInPod({ container: { env: [{ name: NAME, value: '<'.repeat(bytes) }] } });
const OVERHEAD = 4096;

(whyNoControlPlane() ? describe.skip : describe)('a pod with many escaped characters', () => {
  let cluster: WebhookCluster;
  let webhook: Webhook;

  beforeAll(async () => {
    cluster = await WebhookCluster.open();
    const env = await cluster.configure(['webhook.timeoutSeconds=30']);
    const read = readConfig({ ...env, KUBECONFIG: cluster.kubeconfig });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const { signal } = new AbortController();
    webhook = await startWebhook({ ...read.config, PORT: 0 }, silentLogger, signal, { everyMs: 200 });
    await cluster.pointTo(webhook.port);
  });
  afterAll(async () => {
    await webhook?.close();
    await cluster?.close();
  });

  test.each([
    ['600 KB', 600_000],
    ['the maximum size that the API server accepts', API_SERVER_LIMIT - OVERHEAD],
  ])('is injected: %s', async (_what, bytes) => {
    const answer = await cluster.create(podOf(bytes));
    if (!answer.ok) throw new Error(answer.message);
    expect(answer.body.spec.initContainers?.map(({ name }) => name)).toEqual(['platform-sidecar']);
    expect(answer.body.spec.containers[0]?.env?.[0]?.value).toHaveLength(bytes);
  });

  test('is rejected by the API server above the limit that the webhook assumes', async () => {
    const answer = await cluster.create(podOf(API_SERVER_LIMIT));
    expect(answer).toMatchObject({ ok: false, status: 413 });
    expect(answer.ok ? '' : answer.message).toContain(`limit is ${API_SERVER_LIMIT}`);
  });

  test('is rejected by the guard if the webhook is unavailable', async () => {
    await webhook.close();
    for (const bytes of [600_000, API_SERVER_LIMIT - OVERHEAD]) {
      const answer = await cluster.create(podOf(bytes));
      expect(answer).toMatchObject({ ok: false, status: 403 });
      expect(answer.ok ? '' : answer.message).toContain('the injector did not answer');
    }
  });
});
