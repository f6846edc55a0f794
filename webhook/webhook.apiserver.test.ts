// The chart and the webhook at a real API server, also next to an injector of a service mesh that works like the one of Istio.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { INJECTED_ANNOTATION } from '../core/injection/names.ts';
import { patchBetween } from '../core/injection/patch.ts';
import type { Container, Handler, Pod } from '../core/injection/pod.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { expectOk } from '../kube/objects.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import { creationOf, rejectionIn, type AnyObject } from '../testing/cluster/api-cluster.ts';
import { optedInPod } from '../testing/cluster/pods.ts';
import { askWebhook, WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { until } from '../testing/time/until.ts';
import { issueCa, issueLeaf } from './certificates/issue.ts';
import type { Webhook } from './start.ts';

const SIDECAR_IMAGE = 'registry.example/agent-compliance/sidecar:0.1.0';
const EXCLUDED = 'traffic.sidecar.istio.io/excludeInboundPorts';
const AGENT_PROBE = { httpGet: { path: '/livez', port: 'http', scheme: 'HTTP' } };

/** Probes and hooks go to the agent of Istio, as `patchRewriteProbe` of Istio changes them. */
function rewritten(container: Container): Container {
  const to = (handler: Handler | undefined, name: string): Handler | undefined =>
    handler?.httpGet && {
      ...handler,
      httpGet: { ...handler.httpGet, path: `/app-health/${container.name}/${name}`, port: 15020 },
    };
  const { lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  return {
    ...container,
    ...(livenessProbe && { livenessProbe: to(livenessProbe, 'livez')! }),
    ...(readinessProbe && { readinessProbe: to(readinessProbe, 'readyz')! }),
    ...(startupProbe && { startupProbe: to(startupProbe, 'startupz')! }),
    ...(lifecycle?.preStop && { lifecycle: { ...lifecycle, preStop: to(lifecycle.preStop, 'prestopz')! } }),
  };
}

/** Istio's injector adds its containers once. The init container has the ports that the annotation excludes at that time. */
function withIstio(pod: Pod): Pod {
  const { initContainers = [], containers } = pod.spec;
  const args = ['istio-iptables', '-d', `15090,15021,${pod.metadata?.annotations?.[EXCLUDED] ?? ''}`];
  return {
    ...pod,
    spec: {
      ...pod.spec,
      initContainers: [{ name: 'istio-init', image: 'istio:1', args }, ...initContainers.map(rewritten)],
      containers: [...containers.map(rewritten), { name: 'istio-proxy', image: 'istio:1' }],
    },
  };
}

interface Review {
  request: { uid: string; object: Pod };
}

/** A pod of the namespace `team`, as an object with a path. */
const inTeam = ({ metadata, ...rest }: Pod) =>
  ({ ...rest, metadata: { name: 'chat', namespace: 'team', ...metadata } }) as unknown as AnyObject;

(whyNoControlPlane() ? describe.skip : describe)('the chart and the webhook at a real API server', () => {
  let cluster: WebhookCluster;
  let webhook: Webhook;

  const start = () => cluster.startWebhook({ SIDECAR_IMAGE }, { everyMs: 200 });
  const isReady = async (each: Webhook) => (await askWebhook(each.port, '/readyz')).status === 200;
  async function running(): Promise<Webhook> {
    const started = await start();
    await until(() => isReady(started));
    await cluster.pointTo(started.port);
    return started;
  }
  const created = async (pod: Pod, namespace?: string, dryRun?: boolean): Promise<Pod> =>
    expectOk(await cluster.create(pod, namespace, dryRun));
  const rejected = async (pod: Pod, namespace?: string) => rejectionIn(await cluster.create(pod, namespace));
  /** As `created`, stored, and removed again. */
  async function stored(pod: Pod): Promise<Pod> {
    const found = await created(pod, 'team', false);
    await cluster.remove(`/api/v1/namespaces/team/pods/${found.metadata?.name}`, { gracePeriodSeconds: 0 });
    return found;
  }

  beforeAll(async () => {
    cluster = await WebhookCluster.open(['strict', 'kube-system']);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await cluster.patch('/api/v1/namespaces/strict', { metadata: { labels } });
  });
  afterAll(() => cluster?.close());

  test('replicas that start together agree on one CA, and only they have its key', async () => {
    const both = await Promise.all([start(), start()]);
    await until(async () => (await Promise.all(both.map(isReady))).every(Boolean));
    const secret = await cluster.secret('agent-compliance-webhook-tls');
    expect(Object.keys(secret).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    const ca = secret['ca.crt'] ?? '';
    expect(await cluster.caBundle()).toBe(ca);
    const trusted = { ca, servername: 'agent-compliance-webhook.platform-system.svc' };
    await until(async () => {
      const answers = await Promise.all(both.map((each) => askWebhook(each.port, '/livez', trusted)));
      return answers.every(({ status }) => status === 200);
    });
    const controlPlane = await cluster.secret('agent-compliance-control-plane-tls');
    expect(Object.keys(controlPlane).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(controlPlane['ca.crt']).toBe(ca);
    await Promise.all(both.map((each) => each.close()));
  });

  describe('while the webhook is available', () => {
    beforeAll(async () => {
      webhook = await running();
    });
    afterAll(() => webhook.close());

    test('a pod that opts in gets the sidecar as first init container, without an API token', async () => {
      const initContainers = [{ name: 'init', image: 'init:1' }];
      const { metadata, spec } = await stored(optedInPod({ spec: { initContainers } }));
      expect(spec.initContainers?.map(({ name }) => name)).toEqual(['platform-sidecar', 'init']);
      const mounts = (container: Container | undefined) =>
        (container!.volumeMounts as { name: string; mountPath: string }[]).map(
          ({ name, mountPath }) => `${name.replace(/^(kube-api-access)-.*/, '$1')} ${mountPath}`,
        );
      expect(mounts(spec.initContainers?.[0])).toEqual([
        'platform-manifest /manifest',
        'platform-identity /var/run/secrets/platform.io',
        'platform-state /run/platform-state',
        'platform-noapi /var/run/secrets/kubernetes.io/serviceaccount',
      ]);
      expect(mounts(spec.containers[0])).toEqual([
        'kube-api-access /var/run/secrets/kubernetes.io/serviceaccount',
      ]);
      expect(metadata?.labels).toEqual({ 'platform.io/agent': 'chat', 'platform.io/agent-name': 'chat' });
      expect(metadata?.annotations?.['platform.io/ca']).toBe(await cluster.caBundle());
    });

    test('a dry run returns the same pod as a real creation', async () => {
      const essence = ({ spec, metadata }: Pod) => ({
        spec: JSON.stringify(spec).replaceAll(/kube-api-access-\w{5}/g, 'kube-api-access'),
        ...{ labels: metadata?.labels, annotations: metadata?.annotations },
      });
      expect(essence(await created(optedInPod()))).toEqual(essence(await stored(optedInPod())));
    });

    test('the patched pod with all defaults of the API server needs no further patch', async () => {
      const answer = await askWebhook(webhook.port, '/mutate/pod', {
        method: 'POST',
        body: reviewOf(await created(optedInPod())),
      });
      expect(JSON.parse(answer.body)).toMatchObject({ response: { uid: 'u', allowed: true } });
      expect(JSON.parse(answer.body)).not.toHaveProperty('response.patch');
    });

    test('a pod in a restricted namespace is admitted', async () => {
      const securityContext = {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      };
      expect(await rejected(optedInPod({ container: { securityContext } }), 'strict')).toBe('');
    });

    test.each<[string, Record<string, string>, string]>([
      [
        'an inject value',
        { 'platform.io/inject': 'yes' },
        'annotation platform.io/inject: "yes" is not one of "true", "false"',
      ],
      [
        'two values',
        { 'platform.io/policy-proxy-mode': 'block', 'platform.io/agent-port': '99999' },
        'annotation platform.io/agent-port: "99999" is not an integer from 1 to 65535; annotation platform.io/policy-proxy-mode: "block" is not one of "track", "enforce", "off"',
      ],
      [
        'an image',
        { 'platform.io/sidecar-image': 'evil:1' },
        `annotation platform.io/sidecar-image: "evil:1" is not one of the images that this cluster allows (${SIDECAR_IMAGE})`,
      ],
    ])('%s that is not allowed is rejected with a message', async (_case, annotations, message) => {
      expect(await rejected(optedInPod({ annotations }))).toBe(
        `admission webhook "pod.inject.platform.io" denied the request: ${message}`,
      );
    });

    test('a misspelt annotation results in a warning to the client', async () => {
      const annotations = { 'platform.io/policy-proxy-mod': 'enforce' };
      const answer = await cluster.ask(creationOf(inTeam(optedInPod({ annotations }))));
      expect(answer).toMatchObject({
        message: '',
        warnings: ['annotation platform.io/policy-proxy-mod is not known to the injector and has no effect'],
      });
    });

    test('exposes exactly the documented metrics and increments them', async () => {
      await created(optedInPod());
      // A dry run does not count as the last refusal.
      const refused = optedInPod({ annotations: { 'platform.io/inject': 'yes' } });
      expect(await cluster.create(refused, 'team', false)).toMatchObject({ ok: false });
      const silent = optedInPod({ annotations: { 'platform.io/inject': 'false' } });
      await askWebhook(webhook.port, '/mutate/pod', {
        method: 'POST',
        body: reviewOf(silent),
      });
      const stranger = await issueCa({ now: new Date(), days: 1 });
      expect((await askWebhook(webhook.port, '/livez', { ca: stranger.cert, servername: 'x' })).status).toBe(
        0,
      );
      const lines = async () => (await askWebhook(webhook.port, '/metrics')).body.split('\n');
      await until(async () => (await lines()).some((line) => line.startsWith('platform_webhook_tls_errors')));
      const page = await readFile(join(import.meta.dirname, '../docs/webhook.md'), 'utf8');
      const documented = [...page.matchAll(/^\| `([a-z]+_\w+)` +\|/gm)].map(([, name]) => name);
      const shown = (await lines()).flatMap((line) => /^# TYPE (\w+)/.exec(line)?.[1] ?? []);
      expect(shown.toSorted()).toEqual(documented.toSorted());
      for (const sample of [
        /^controller_runtime_webhook_requests_total\{webhook="\/mutate\/pod",code="200"\} [1-9]/,
        /^controller_runtime_webhook_latency_seconds_count\{webhook="\/mutate\/pod"\} [1-9]/,
        /^platform_webhook_decisions_total\{action="inject",code=""\} [1-9]/,
        /^platform_webhook_decisions_total\{action="refuse",code="annotation-invalid"\} [1-9]/,
        /^platform_webhook_decisions_total\{action="skip",code="not-opted-in"\} [1-9]/,
        /^platform_webhook_last_refusal_timestamp_seconds\{namespace="[^"]+",code="annotation-invalid"\} [1-9]/,
        /^platform_webhook_tls_errors_total\{code="\w+"\} [1-9]/,
        /^platform_webhook_certificate_expiry_seconds \d{10}$/,
      ])
        expect(await lines()).toContainEqual(expect.stringMatching(sample));
    });

    /** Creates a namespace with an object that limits its pods. */
    async function limited(namespace: string, kind: string, spec: unknown): Promise<void> {
      await cluster.namespaces(namespace);
      await cluster.apply([{ apiVersion: 'v1', kind, metadata: { name: 'small', namespace }, spec }]);
    }
    const withResources = (annotations: Record<string, string> = {}, name = 'chat') => {
      const [requests, limits] = [
        { cpu: '50m', memory: '64Mi' },
        { cpu: '1', memory: '128Mi' },
      ];
      return optedInPod({ annotations, metadata: { name }, container: { resources: { requests, limits } } });
    };

    test('a LimitRange with defaults sets only those sidecar resources that the injector leaves unset', async () => {
      const limits = {
        type: 'Container',
        default: { cpu: '500m', memory: '160Mi', 'ephemeral-storage': '1Gi' },
        defaultRequest: { cpu: '10m', memory: '64Mi', 'ephemeral-storage': '10Mi' },
      };
      await limited('with-defaults', 'LimitRange', { limits: [limits] });
      const { spec } = await created(optedInPod(), 'with-defaults');
      expect(spec.initContainers?.[0]?.resources).toEqual({
        requests: { cpu: '5m', memory: '96Mi', 'ephemeral-storage': '10Mi' },
        limits: { cpu: '500m', memory: '192Mi', 'ephemeral-storage': '1Gi' },
      });
      expect(spec.containers[0]?.resources).toMatchObject({ limits: { cpu: '500m', memory: '160Mi' } });
      const own = optedInPod({ annotations: { 'platform.io/sidecar-cpu-limit': '2' } });
      const chosen = await created(own, 'with-defaults');
      expect(chosen.spec.initContainers?.[0]?.resources?.limits).toMatchObject({ cpu: '2' });
    });

    test('a LimitRange with a maximum and a minimum rejects the pod with a clear message, and annotations make the sidecar fit', async () => {
      const limits = {
        ...{ type: 'Container', max: { memory: '128Mi', cpu: '2' }, min: { cpu: '50m', memory: '32Mi' } },
      };
      await limited('narrow', 'LimitRange', { limits: [limits] });
      const tooBig = await rejected(withResources(), 'narrow');
      expect(tooBig).toMatch(/maximum memory usage per Container is 128Mi, but limit is 192Mi/);
      expect(tooBig).toMatch(/minimum cpu usage per Container is 50m, but request is 5m/);
      const annotations = {
        'platform.io/sidecar-cpu-request': '50m',
        'platform.io/sidecar-memory-limit': '128Mi',
      };
      expect(await rejected(withResources(annotations), 'narrow')).toBe('');
    });

    test('a ResourceQuota counts the sidecar’s requests, and rejects a pod above the quota with a clear message', async () => {
      const hard = {
        ...{ 'requests.cpu': '100m', 'requests.memory': '200Mi' },
        ...{ 'limits.cpu': '3', 'limits.memory': '500Mi' },
      };
      await limited('with-quota', 'ResourceQuota', { hard });
      // The controller that does this does not run here.
      const used = Object.fromEntries(Object.keys(hard).map((resource) => [resource, '0']));
      const quota = '/api/v1/namespaces/with-quota/resourcequotas/small';
      await cluster.patch(`${quota}/status`, { status: { hard, used } });
      const sized = (name: string) => withResources({ 'platform.io/sidecar-cpu-limit': '1' }, name);
      // Pods are rejected until the API server has this status.
      await until(async () => (await rejected(sized('first'), 'with-quota')) === '');
      expect(await rejected(withResources(), 'with-quota')).toContain(
        'failed quota: small: must specify limits.cpu for: platform-sidecar',
      );
      await created(sized('first'), 'with-quota', false);
      expect((await cluster.get<{ status: { used: unknown } }>(quota)).status.used).toEqual({
        ...{ 'requests.cpu': '55m', 'requests.memory': '160Mi' },
        ...{ 'limits.cpu': '2', 'limits.memory': '320Mi' },
      });
      expect(await rejected(sized('second'), 'with-quota')).toMatch(
        /exceeded quota: small, requested: .*requests\.cpu=55m.*used: .*requests\.cpu=55m.*limited: .*requests\.cpu=100m/,
      );
    });

    test.each([
      ['no annotation', undefined, 'team'],
      ['"false"', 'false', 'team'],
      ["the chart's own namespace", 'true', 'platform-system'],
      ['kube-system', 'true', 'kube-system'],
    ])('nothing is injected with %s', async (_case, inject, namespace) => {
      const pod = optedInPod({
        ...(inject !== undefined && { annotations: { 'platform.io/inject': inject } }),
      });
      if (inject === undefined) delete pod.metadata?.annotations;
      expect((await created(pod, namespace)).spec.initContainers).toBeUndefined();
    });

    describe('next to the injector of a service mesh', () => {
      let mesh: Listener;
      beforeAll(async () => {
        const validity = { now: new Date(), days: 1 };
        const ca = await issueCa(validity);
        mesh = await listen({
          tls: await issueLeaf(ca, ['127.0.0.1'], validity),
          port: 0,
          handler: (request, response) => {
            void new Response(request).json().then((review) => {
              const { uid, object } = (review as Review).request;
              const patch = Buffer.from(JSON.stringify(patchBetween(object, withIstio(object)))).toString(
                'base64',
              );
              response.writeHead(200, { 'content-type': 'application/json' }).end(
                JSON.stringify({
                  ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
                  response: { uid, allowed: true, patchType: 'JSONPatch', patch },
                }),
              );
            });
          },
        });
        // The API server calls webhooks in the order of the names of their configurations.
        await cluster.apply(['a-mesh', 'istio-sidecar-injector'].map((name) => configuration(name, ca.cert)));
      });

      afterAll(async () => {
        await mesh.close();
      });

      const configuration = (name: string, ca: string): object => ({
        ...{
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'MutatingWebhookConfiguration',
          metadata: { name },
        },
        webhooks: [
          {
            ...{ name: 'mesh.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'] },
            ...{ failurePolicy: 'Fail', reinvocationPolicy: 'Never' },
            objectSelector: { matchLabels: { mesh: name } },
            clientConfig: {
              url: `https://127.0.0.1:${mesh.port}/`,
              caBundle: Buffer.from(ca).toString('base64'),
            },
            rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
          },
        ],
      });

      /** The pod as the API server would store it, and its warnings. */
      async function besideMesh(configurationName: string): Promise<{ pod: Pod; warnings: string[] }> {
        const pod = optedInPod({
          metadata: { labels: { mesh: configurationName } },
          container: { livenessProbe: AGENT_PROBE },
        });
        const { message, body, warnings } = await cluster.ask<Pod>(creationOf(inTeam(pod)));
        expect(message).toBe('');
        return { pod: body, warnings };
      }

      const named = ({ spec }: Pod, name: string): Container => {
        const found = [...spec.containers, ...(spec.initContainers ?? [])].find((each) => each.name === name);
        if (found === undefined) throw new Error(`no container ${name}`);
        return found;
      };

      test('that runs later, the mesh excludes the port, and the sidecar keeps its probes and its hook', async () => {
        const { pod, warnings } = await besideMesh('istio-sidecar-injector');
        expect(named(pod, 'istio-init')['args']).toEqual(['istio-iptables', '-d', '15090,15021,4001']);
        const { startupProbe, readinessProbe, lifecycle } = named(pod, 'platform-sidecar');
        const targets = [startupProbe, readinessProbe, lifecycle?.preStop].map((each) => each?.httpGet);
        expect(targets).toMatchObject([
          { path: '/readyz', port: 4001 },
          { path: '/readyz', port: 4001 },
          { path: '/drain', port: 4001 },
        ]);
        // The agent's own probe is the mesh's concern.
        expect(named(pod, 'agent').livenessProbe?.httpGet).toMatchObject({
          path: '/app-health/agent/livez',
          port: 15020,
        });
        expect(pod.spec.initContainers?.map(({ name }) => name)).toEqual(['platform-sidecar', 'istio-init']);
        expect(warnings).toEqual([]);
      });

      test('that ran earlier, the user is warned that the mesh does not exclude the port', async () => {
        const { pod, warnings } = await besideMesh('a-mesh');
        expect(named(pod, 'istio-init')['args']).toEqual(['istio-iptables', '-d', '15090,15021,']);
        expect(pod.metadata?.annotations).toMatchObject({ [EXCLUDED]: '4001' });
        expect(pod.metadata?.annotations?.[INJECTED_ANNOTATION]).toBeDefined();
        expect(warnings.join()).toContain(`add 4001 to the annotation ${EXCLUDED} of the pod template`);
      });
    });
  });

  test('a corrupted Secret is created again', async () => {
    const data = { 'ca.crt': Buffer.from('broken').toString('base64') };
    await cluster.patch(`/api/v1/namespaces/platform-system/secrets/agent-compliance-webhook-tls`, { data });
    webhook = await running();
    expect((await created(optedInPod())).spec.initContainers?.[0]?.name).toBe('platform-sidecar');
    await webhook.close();
  });
});

function reviewOf(object: Pod): unknown {
  const kind = { group: '', version: 'v1', kind: 'Pod' };
  const about = { uid: 'u', operation: 'CREATE', namespace: 'team', kind, object };
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: about };
}
