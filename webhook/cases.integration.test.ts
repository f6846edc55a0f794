// The pods of the case files through the real API server: what it keeps is what the file says.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pod } from '../core/injection/pod.ts';
import type { InjectionSettings } from '../core/injection/settings.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { KubeAnswer } from '../kube/client.ts';
import { systemClock } from '../runtime/clock.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import { silentLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { injectionCases, type InjectionCase } from '../testing/injection-case.ts';
import { injectionSettings } from '../testing/pods.ts';
import { WebhookCluster } from '../testing/webhook-cluster.ts';
import { createWebhookApp } from './app.ts';
import { readConfig } from './config.ts';
import { startWebhook, type Webhook } from './start.ts';

const TOKEN_VOLUME = 'kube-api-access';
/** What the guard knows of the cases' images. */
const VALUES = [
  'image.registry="registry.example"',
  'sidecar.allowedImages=["mirror.example/sidecar@sha256:0f","mirror.example/sidecar:2"]',
];
/** What the pods of the cases refer to, so that the API server has no other reason against them. */
const REFERRED = [
  ...['default', 'agents'].flatMap((namespace) =>
    ['default', 'web', 'cluster-example', 'spark', 'chat'].map((name) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace },
    })),
  ),
  { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 1000 },
  {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: 'gvisor' },
    handler: 'runsc',
    overhead: { podFixed: { cpu: '250m', memory: '120Mi' } },
  },
  { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'nvidia' }, handler: 'nvidia' },
];

const CASES = injectionCases();
const isImpossible = ({ before }: InjectionCase): boolean => 'ephemeralContainers' in before.spec;
const POSSIBLE = CASES.filter(([, each]) => !isImpossible(each));

(whyNoControlPlane() ? describe.skip : describe)('the cases at a real API server', () => {
  let cluster: WebhookCluster;

  beforeAll(async () => {
    cluster = await WebhookCluster.open(['agents'], VALUES);
    await cluster.apply(REFERRED);
  }, 90_000);

  afterAll(() => cluster.close(), 30_000);

  const create = (pod: Pod) => cluster.create(pod, pod.metadata?.namespace ?? 'default');

  async function holds({ before, after, refused }: InjectionCase): Promise<void> {
    if (refused) {
      const answer = await create(before);
      expect(answer).toMatchObject({ ok: false });
      expect(answer.ok ? '' : answer.message).toContain(refused.map(({ message }) => message).join('; '));
      return;
    }
    // Posted as it should become, and not opted in, so that no webhook touches it.
    const plain = structuredClone(after ?? before);
    delete plain.metadata?.annotations?.['platform.io/inject'];
    const [injected, posted] = await Promise.all([create(before), create(plain)]);
    expect(kept(injected)).toEqual(kept(posted));
  }

  describe('with the settings of a plain installation', () => {
    let webhook: Webhook;

    beforeAll(async () => {
      const image = injectionSettings().image;
      const read = readConfig({ SIDECAR_IMAGE: image, KUBECONFIG: cluster.kubeconfig });
      if (!read.ok) throw new Error(JSON.stringify(read.problems));
      const { signal } = new AbortController();
      webhook = await startWebhook({ ...read.config, PORT: 0 }, silentLogger, signal, { everyMs: 200 });
      await cluster.pointTo(webhook.port);
    }, 60_000);

    afterAll(() => webhook.close(), 30_000);

    test.each(POSSIBLE.filter(([, { settings }]) => !settings))('%s', (_name, each) => holds(each));

    test.each(CASES.filter(([, each]) => isImpossible(each)))(
      '%s: the API server itself lets nobody create it',
      async (_name, { before }) => {
        const message = expect.stringContaining(
          'spec.ephemeralContainers: Forbidden: cannot be set on create',
        ) as unknown;
        expect(await create(before)).toMatchObject({ ok: false, status: 422, message });
      },
    );
  });

  // Some are settings that only `platform inject` can have, so the app is given them, and no process an environment.
  describe('with settings of their own', () => {
    let settings: InjectionSettings;
    let webhook: Listener;

    beforeAll(async () => {
      const { 'tls.crt': cert = '', 'tls.key': key = '' } = await cluster.secret(
        'agent-compliance-webhook-tls',
      );
      settings = injectionSettings();
      const handler = createWebhookApp({
        logger: silentLogger,
        metrics: createMetrics(),
        clock: systemClock,
        settings: () => settings,
        unready: () => null,
      });
      webhook = await listen({ handler, port: 0, tls: { cert, key } });
      await cluster.pointTo(webhook.port);
    }, 60_000);

    afterAll(() => webhook.close(), 30_000);

    test.each(POSSIBLE.filter(([, each]) => each.settings))('%s', async (_name, each) => {
      settings = injectionSettings(each.settings);
      await holds(each);
    });
  });
});

/** The pod as the API server keeps it, without what differs from call to call or tells the two ways apart. */
function kept(answer: KubeAnswer<Pod>): unknown {
  if (!answer.ok) throw new Error(answer.message);
  const text = JSON.stringify(answer.body).replaceAll(/kube-api-access-[a-z0-9]{5}/g, TOKEN_VOLUME);
  const { metadata, status: _status, ...rest } = JSON.parse(text) as Pod;
  // The ServiceAccount plugin comes before the webhook, or after what was posted.
  rest.spec.volumes?.sort((a, b) => Number(a.name === TOKEN_VOLUME) - Number(b.name === TOKEN_VOLUME));
  const { annotations = {}, name, labels } = metadata ?? {};
  const others = Object.entries(annotations).filter(
    ([key]) => !/^platform\.io\/(inject|injected|ca)$/.test(key),
  );
  return {
    ...rest,
    labels,
    annotations: Object.fromEntries(others),
    ...(metadata?.generateName === undefined && { name }),
  };
}
