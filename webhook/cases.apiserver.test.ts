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
/** The chart's values for what all cases have in common: the sidecar's image. */
const VALUES = [
  'image.registry="registry.example"',
  'sidecar.image.tag="1.0.0"',
  // One case has such a pod.
  'guard.allowSharedProcessNamespace=true',
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
/** By the chart's values that bring a case's settings; null: no values do, but `platform inject` can be told so. */
const INSTALLATIONS = Map.groupBy(POSSIBLE, ([, { settings }]) => JSON.stringify(valuesOf(settings ?? {})));

/** The settings of a case as values of the chart, each as `--set-json` takes it. */
function valuesOf(settings: Partial<InjectionSettings>): string[] | null {
  const { engine, ...others } = settings;
  const values = Object.entries(others).map(([name, value]) => {
    const path = {
      mode: 'policy.mode',
      minimumMode: 'policy.minimumMode',
      minimumCompliantGrade: 'policy.minimumCompliantGrade',
      minimumCompliantEvidence: 'policy.minimumCompliantEvidence',
      allowedImages: 'sidecar.allowedImages',
    };
    const known = Object.entries(path).find(([setting]) => setting === name)?.[1];
    return known === undefined ? null : `${known}=${JSON.stringify(value)}`;
  });
  const all = [...values, ...engineValues(engine)];
  return all.includes(null) ? null : all.filter((value) => value !== null);
}

function engineValues(engine: InjectionSettings['engine'] | undefined): string[] {
  if (engine === undefined) return [];
  if (typeof engine === 'string') return [`policy.engine="${engine}"`];
  const { cpuRequest, cpuLimit, memoryRequest, memoryLimit } = engine.resources;
  const resources = {
    requests: { cpu: cpuRequest, memory: memoryRequest },
    limits: { cpu: cpuLimit, memory: memoryLimit },
  };
  return ['policy.engine="opa"', `policy.opa=${JSON.stringify({ image: engine.image, resources })}`];
}

(whyNoControlPlane() ? describe.skip : describe)('the cases at a real API server', () => {
  let cluster: WebhookCluster;

  beforeAll(async () => {
    cluster = await WebhookCluster.open(['agents'], VALUES);
    await cluster.apply(REFERRED);
  });

  afterAll(() => cluster.close());

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

  test('the chart can be given the settings of almost all of them', () => {
    expect(INSTALLATIONS.get('null')?.map(([name]) => name)).toEqual([
      'control-plane-of-public-authority',
      'no-control-plane',
    ]);
    expect(INSTALLATIONS.size).toBeGreaterThan(5);
  });

  describe.each([...INSTALLATIONS].filter(([values]) => values !== 'null'))(
    'as the chart with the values %s has them injected',
    (values, cases) => {
      let webhook: Webhook;

      beforeAll(async () => {
        const env = await cluster.configure([...VALUES, ...(JSON.parse(values) as string[])]);
        const read = readConfig({ ...env, KUBECONFIG: cluster.kubeconfig });
        if (!read.ok) throw new Error(JSON.stringify(read.problems));
        const { signal } = new AbortController();
        webhook = await startWebhook({ ...read.config, PORT: 0 }, silentLogger, signal, { everyMs: 200 });
        await cluster.pointTo(webhook.port);
      });

      afterAll(() => webhook.close());

      test.each(cases)('%s', (_name, each) => holds(each));
    },
  );

  test.each(CASES.filter(([, each]) => isImpossible(each)))(
    '%s: the API server itself lets nobody create it',
    async (_name, { before }) => {
      const message = expect.stringContaining(
        'spec.ephemeralContainers: Forbidden: cannot be set on create',
      ) as unknown;
      expect(await create(before)).toMatchObject({ ok: false, status: 422, message });
    },
  );

  // A sidecar without a control plane, or with one of a public authority: `platform inject` makes it, and no chart. The guard
  // of a chart accepts sidecars that report to its own control plane, by its own authority.
  describe('with settings that no chart has', () => {
    let settings: InjectionSettings;
    let webhook: Listener;

    beforeAll(async () => {
      await cluster.configure(VALUES);
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
    });

    afterAll(() => webhook.close());

    test.each(INSTALLATIONS.get('null') ?? [])('%s', async (_name, each) => {
      settings = injectionSettings(each.settings);
      const answer = await create(each.before);
      expect(answer).toMatchObject({ ok: false, status: 403 });
      expect(answer.ok ? '' : answer.message).toContain('platform-sidecar/PLATFORM_URL');
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
