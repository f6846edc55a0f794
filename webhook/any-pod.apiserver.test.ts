// Creates generated pods and very large pods at a real API server, which also validates each of them.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { decide } from '../core/injection/decide.ts';
import { INJECTED_ANNOTATION, SIDECAR_CONTAINER } from '../core/injection/names.ts';
import type { Container, Pod } from '../core/injection/pod.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { injectionSettings } from '../runtime/injection-config.ts';
import { anyPod } from '../testing/cluster/any-pod.ts';
import { optedInPod } from '../testing/cluster/pods.ts';
import fc from '../testing/random/properties.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { readConfig } from './config.ts';
import { API_SERVER_LIMIT } from './routes/reviews.ts';
import type { Webhook } from './start.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

/** The property tests of decide() generate more. */
const PODS = IN_SOAK ? 1_000 : 40;
const ENV = { SIDECAR_IMAGE: 'registry.example/agent-compliance/sidecar:0.1.0' };

/** Annotations with valid and invalid values. */
const variations = fc.record(
  {
    'platform.io/inject': fc.constantFrom('true', 'true', 'true', 'false', 'yes', ''),
    'platform.io/agent-port': fc.constantFrom('4000', '0', 'http', '8000'),
    'platform.io/agent-container': fc.constantFrom('c0', 'none'),
    'platform.io/policy-proxy-mode': fc.constantFrom('block', 'enforce'),
    'platform.io/sidecar-memory-request': fc.constantFrom('64Mi', '2Gi', 'much'),
    'platform.io/sidecar-image': fc.constant('evil:1'),
    'platform.io/agent-name': fc.constantFrom('other', 'Not A Name'),
  },
  { requiredKeys: [] },
);

const HANDLERS = ['httpGet', 'tcpSocket', 'exec', 'grpc'] as const;
const hasHandler = (value: unknown): boolean => HANDLERS.some((name) => Object.hasOwn(value ?? {}, name));
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

/** A container that the API server accepts, without the fields that it would reject for reasons unrelated to injection. */
function acceptableContainer(container: Container, mayProbe: boolean): Container {
  const { livenessProbe, readinessProbe, startupProbe, volumeMounts, lifecycle, resources, ...rest } =
    container as Container & Record<string, unknown>;
  void [volumeMounts, lifecycle, resources];
  const probes = Object.entries({ livenessProbe, readinessProbe, startupProbe }).filter(([, probe]) =>
    hasHandler(probe),
  );
  const seen = new Set<string>();
  const ports = (container.ports ?? []).flatMap(({ name, containerPort, protocol }) => {
    const key = `${containerPort} ${protocol ?? 'TCP'}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return {
      containerPort,
      ...(name !== undefined && { name }),
      ...(protocol !== undefined && { protocol }),
    };
  });
  const acceptable = { ...rest, ports, ...(mayProbe && Object.fromEntries(probes)) } as Record<
    string,
    unknown
  >;
  delete acceptable['somethingNewer'];
  return acceptable as unknown as Container;
}

function acceptablePod(pod: Pod): Pod {
  const { containers, initContainers, volumes, ...rest } = pod.spec;
  const { restartPolicy, terminationGracePeriodSeconds, nodeSelector, hostNetwork } = rest as Record<
    string,
    unknown
  >;
  const labels = Object.entries(pod.metadata?.labels ?? {}).filter(([, value]) => LABEL_VALUE.test(value));
  const spec = {
    ...{ restartPolicy, terminationGracePeriodSeconds, nodeSelector, hostNetwork, volumes },
    containers: containers.map((each) => acceptableContainer(each, true)),
    initContainers: initContainers?.map((each) => acceptableContainer(each, each.restartPolicy === 'Always')),
  };
  const whole = { ...pod, metadata: { ...pod.metadata, labels: Object.fromEntries(labels) }, spec };
  // A port name must not contain two consecutive hyphens, in its definition and in references.
  return JSON.parse(
    JSON.stringify(whole).replaceAll(/"([pi]\d[a-z0-9-]*)"/g, (text) => text.replaceAll(/-+/g, '-')),
  ) as Pod;
}

const sometimes = <T>(arbitrary: fc.Arbitrary<T>, otherwise: T): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(otherwise) }, { weight: 1, arbitrary });

const pods = fc
  .tuple(anyPod, sometimes<Record<string, string>>(variations, {}), sometimes(fc.boolean(), false))
  .map(([pod, annotations, hostNetwork]) =>
    acceptablePod({
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata?.annotations, ...annotations } },
      spec: { ...pod.spec, ...(hostNetwork && { hostNetwork }) },
    }),
  );

/** A pod that opts in, with about this many bytes in the request to the API server. */
const podOf = (bytes: number) =>
  optedInPod({ container: { env: [{ name: 'TEXT', value: '<'.repeat(bytes) }] } });
const OVERHEAD = 4096;
/** Of the guard, if no injector has added a sidecar. */
const NO_ANSWER = 'the injector did not answer';

(whyNoControlPlane() ? describe.skip : describe)('at a real API server', () => {
  let cluster: WebhookCluster;
  let webhook: Webhook;

  beforeAll(async () => {
    cluster = await WebhookCluster.open();
  });
  afterAll(() => cluster?.close());

  async function start(env: Record<string, string>): Promise<void> {
    webhook = await cluster.startWebhook(env, { everyMs: 200 });
    await cluster.pointTo(webhook.port);
  }

  describe('generated pods', () => {
    beforeAll(() => start(ENV));
    afterAll(() => webhook?.close());

    test(`${PODS} pods are injected, admitted unchanged or rejected exactly as decide() returns`, async () => {
      const read = readConfig({ ...ENV, KUBECONFIG: cluster.kubeconfig });
      if (!read.ok) throw new Error(JSON.stringify(read.problems));
      const settings = { ...injectionSettings(read.config, read.config.POD_NAMESPACE), ca: null };
      const seen = { inject: 0, skip: 0, refuse: 0, invalid: 0, labelled: 0 };
      for (const pod of fc.sample(pods, { numRuns: PODS })) {
        const decision = decide(pod, settings);
        const answer = await cluster.create(pod);
        if (decision.action === 'refuse') {
          seen.refuse += 1;
          const reasons = decision.rejections.map(({ message }) => message).join('; ');
          expect(answer).toMatchObject({ ok: false, status: 422 });
          expect(answer.ok ? '' : answer.message).toContain(reasons);
        } else if (
          !answer.ok &&
          answer.message.includes('only the injector may set the label platform.io/agent')
        ) {
          seen.labelled += 1;
          expect([decision.action, Object.keys(pod.metadata?.labels ?? {})]).toEqual([
            'skip',
            expect.arrayContaining(['platform.io/agent']),
          ]);
        } else if (!answer.ok) {
          // Rejected by the API server's own validation, which runs after the webhook; not by the webhook or the guard.
          seen.invalid += 1;
          expect(answer.message).toMatch(/^Pod "|strict decoding error|cannot unmarshal|is invalid/);
          expect(answer.message).not.toMatch(/platform-|admission webhook/);
        } else {
          seen[decision.action] += 1;
          const isInjected = answer.body.metadata?.annotations?.[INJECTED_ANNOTATION] !== undefined;
          const first = answer.body.spec.initContainers?.[0]?.name;
          expect([isInjected, first === SIDECAR_CONTAINER]).toEqual(
            decision.action === 'inject' ? [true, true] : [false, false],
          );
        }
      }
      expect(Math.min(seen.inject, seen.skip + seen.labelled, seen.refuse)).toBeGreaterThan(PODS / 100);
    });
  });

  // The AdmissionReview is much larger than the pod, because the API server escapes characters to six bytes in JSON.
  describe('a pod with many escaped characters', () => {
    beforeAll(async () => {
      await start(await cluster.configure(['webhook.timeoutSeconds=30']));
    });
    afterAll(() => webhook?.close());

    test.each([
      ['600 KB', 600_000],
      ['the maximum size that the API server accepts', API_SERVER_LIMIT - OVERHEAD],
    ])('is injected: %s', async (_what, bytes) => {
      let answer = await cluster.create(podOf(bytes));
      // On a busy machine, API server and webhook can need more than the time-out. A controller repeats the request, too.
      for (let again = 0; !answer.ok && again < 2 && answer.message.includes(NO_ANSWER); again++)
        answer = await cluster.create(podOf(bytes));
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
        expect(answer.ok ? '' : answer.message).toContain(NO_ANSWER);
      }
    });
  });
});
