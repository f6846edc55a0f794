// Creates the pods of the case files at a real API server and compares the stored pods with the files.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pod } from '../core/injection/pod.ts';
import type { InjectionSettings } from '../core/injection/settings.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { KubeResponse } from '../kube/client.ts';
import { systemClock } from '../runtime/clock.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import { silentLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { injectionCases, type InjectionCase } from '../testing/cluster/injection-case.ts';
import { injectionSettings } from '../testing/cluster/pods.ts';
import { WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { createWebhookApp } from './app.ts';
import type { Webhook } from './start.ts';

const TOKEN_VOLUME = 'kube-api-access';
/** Chart values that all cases share, such as the sidecar's image. */
const VALUES = [
  'image.registry="registry.example"',
  'sidecar.image.tag="1.0.0"',
  // Needed by one case.
  'guard.allowSharedProcessNamespace=true',
];
/** Cases by the chart values that result in their settings; null: only `platform inject` supports these settings. */
const INSTALLATIONS = Map.groupBy(
  // What the webhook rejects reaches no other part of the API server: core/injection/cases.test.ts has the cases of other settings.
  injectionCases().filter(([, { refused, settings }]) => !refused || settings === undefined),
  ([, { settings }]) => JSON.stringify(valuesOf(settings ?? {})),
);

/** The settings of a case as chart values in the format of `--set-json`. */
function valuesOf(settings: Partial<InjectionSettings>): string[] | null {
  const { engine, ...others } = settings;
  const values = Object.entries(others).map(([name, value]) => {
    const path = {
      mode: 'policy.mode',
      minimumMode: 'policy.minimumMode',
      minimumCompliantGrade: 'policy.minimumCompliantGrade',
      minimumCompliantEvidence: 'policy.minimumCompliantEvidence',
      allowedImages: 'sidecar.allowedImages',
      otlpCollector: 'sidecar.otlp.collector',
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
    cluster = await WebhookCluster.open(['default', 'agents'], VALUES);
  });

  afterAll(() => cluster.close());

  const create = (pod: Pod) => cluster.create(pod, pod.metadata?.namespace ?? 'default');

  async function expectOutcome({ before, after, refused }: InjectionCase): Promise<void> {
    if (refused) {
      const answer = await create(before);
      expect(answer).toMatchObject({ ok: false });
      expect(answer.ok ? '' : answer.message).toContain(refused.map(({ message }) => message).join('; '));
      return;
    }
    // Posts the expected pod without the opt-in, so that the webhook does not change it.
    const plain = structuredClone(after ?? before);
    delete plain.metadata?.annotations?.['platform.io/inject'];
    const [injected, posted] = await Promise.all([create(before), create(plain)]);
    expect(stored(injected)).toEqual(stored(posted));
  }

  test('chart values exist for the settings of almost all cases', () => {
    expect(INSTALLATIONS.get('null')?.map(([name]) => name)).toEqual([
      'control-plane-of-public-ca',
      'no-control-plane',
    ]);
    expect(INSTALLATIONS.size).toBeGreaterThan(5);
  });

  describe.each([...INSTALLATIONS].filter(([values]) => values !== 'null'))(
    'injected with the chart values %s',
    (values, cases) => {
      let webhook: Webhook;

      beforeAll(async () => {
        const env = await cluster.configure([...VALUES, ...(JSON.parse(values) as string[])]);
        webhook = await cluster.startWebhook(env, { everyMs: 200 });
        await cluster.pointTo(webhook.port);
      });

      afterAll(() => webhook.close());

      test.each(cases)('%s', (_name, each) => expectOutcome(each));
    },
  );

  // Only `platform inject` creates sidecars without a control plane, or with a control plane of a public CA. The chart's guard
  // accepts only sidecars that report to its own control plane with its own CA.
  describe('with settings that the chart does not support', () => {
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
        organisation: null,
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

/** The stored pod without the values that differ between calls or between the two ways of creation. */
function stored(answer: KubeResponse<Pod>): unknown {
  if (!answer.ok) throw new Error(answer.message);
  const text = JSON.stringify(answer.body).replaceAll(/kube-api-access-[a-z0-9]{5}/g, TOKEN_VOLUME);
  const { metadata, status: _status, ...rest } = JSON.parse(text) as Pod;
  // The ServiceAccount plugin adds its volume before the webhook, but after the volumes of a posted pod.
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
