// Creates pods at a real API server next to an injector of a service mesh that works like the one of Istio.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { INJECTED_ANNOTATION } from '../core/injection/names.ts';
import { patchBetween } from '../core/injection/patch.ts';
import type { Container, Handler, Pod } from '../core/injection/pod.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import { silentLogger } from '../runtime/logger.ts';
import { optedInPod } from '../testing/cluster/pods.ts';
import { WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { issueCa, issueLeaf } from './certificates/issue.ts';
import { readConfig } from './config.ts';
import { startWebhook, type Webhook } from './start.ts';

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

(whyNoControlPlane() ? describe.skip : describe)('next to the injector of a service mesh', () => {
  let cluster: WebhookCluster;
  let webhook: Webhook;
  let mesh: Listener;

  beforeAll(async () => {
    cluster = await WebhookCluster.open();
    const read = readConfig({ ...(await cluster.configure([])), KUBECONFIG: cluster.kubeconfig });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const { signal } = new AbortController();
    webhook = await startWebhook({ ...read.config, PORT: 0 }, silentLogger, signal, { everyMs: 200 });
    await cluster.pointTo(webhook.port);
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
    await webhook.close();
    await cluster.close();
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
  async function create(configurationName: string): Promise<{ pod: Pod; warnings: string }> {
    const pod = optedInPod({
      metadata: { labels: { mesh: configurationName } },
      container: { livenessProbe: AGENT_PROBE },
    });
    const dryRun = ['create', '--dry-run=server', '-o', 'json', '-n', 'team', '-f', '-'];
    const { stdout, stderr, code } = await cluster.kubectl(dryRun, JSON.stringify(pod));
    if (code !== 0) throw new Error(stderr);
    return { pod: JSON.parse(stdout) as Pod, warnings: stderr };
  }

  const named = ({ spec }: Pod, name: string): Container => {
    const found = [...spec.containers, ...(spec.initContainers ?? [])].find((each) => each.name === name);
    if (found === undefined) throw new Error(`no container ${name}`);
    return found;
  };

  test('that runs later, the mesh excludes the port, and the sidecar keeps its probes and its hook', async () => {
    const { pod, warnings } = await create('istio-sidecar-injector');
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
    expect(warnings).toBe('');
  });

  test('that ran earlier, the user is warned that the mesh does not exclude the port', async () => {
    const { pod, warnings } = await create('a-mesh');
    expect(named(pod, 'istio-init')['args']).toEqual(['istio-iptables', '-d', '15090,15021,']);
    expect(pod.metadata?.annotations).toMatchObject({ [EXCLUDED]: '4001' });
    expect(pod.metadata?.annotations?.[INJECTED_ANNOTATION]).toBeDefined();
    expect(warnings).toContain(`add 4001 to the annotation ${EXCLUDED} of the pod template`);
  });
});
