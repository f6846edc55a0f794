import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import type { Pod } from '../core/injection/pod.ts';
import { silentLogger } from '../runtime/logger.ts';
import { APPLY, clusterBinary, UNVALIDATED } from '../testing/machine/cluster-binary.ts';
import { REQUIRED } from '../testing/cluster/rendered-chart.ts';
import { tokenKubeconfig } from '../testing/cluster/token-kubeconfig.ts';
import { issueCa } from './certificates/issue.ts';
import { readConfig } from './config.ts';
import { startWebhook, type StartOptions, type Webhook } from './start.ts';
import { until } from '../testing/time/until.ts';

const CHART = join(import.meta.dirname, '../helm/agent-compliance');
const SIDECAR = 'registry.example/agent-compliance/sidecar:0.1.0';

interface KubeObject {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  data?: Record<string, string>;
  webhooks: { clientConfig: { caBundle?: string; service?: unknown; url?: string } }[];
}

(whyNoControlPlane() ? describe.skip : describe)('the chart and the webhook at a real API server', () => {
  let control: ControlPlane;
  let webhookKubeconfig: string;
  const webhooks: Webhook[] = [];

  /** kubectl as an administrator. */
  const kubectl = (args: string[], input?: unknown) =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args], {
      input: input === undefined ? '' : JSON.stringify(input),
    });

  async function get<T = KubeObject>(...args: string[]): Promise<T> {
    const { stdout, stderr, code } = await kubectl(['get', '-o', 'json', ...args]);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as T;
  }

  async function start(options: StartOptions = {}): Promise<Webhook> {
    const config = readConfig({ SIDECAR_IMAGE: SIDECAR, KUBECONFIG: webhookKubeconfig });
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    const webhook = await startWebhook(
      { ...config.config, PORT: 0 },
      silentLogger,
      new AbortController().signal,
      options,
    );
    webhooks.push(webhook);
    return webhook;
  }

  async function stop(): Promise<void> {
    await Promise.all(webhooks.splice(0).map((webhook) => webhook.close()));
  }

  /** Points the chart's webhook at this process, which runs outside the cluster. */
  async function pointTo(webhook: Webhook): Promise<void> {
    const url = `https://127.0.0.1:${webhook.port}/mutate/pod`;
    const patch = [
      { op: 'add', path: '/webhooks/0/clientConfig', value: { url, caBundle: await caBundle() } },
    ];
    await expectOk(
      kubectl([
        'patch',
        'mutatingwebhookconfiguration',
        'agent-compliance',
        '--type=json',
        `-p=${JSON.stringify(patch)}`,
      ]),
    );
  }

  async function caBundle(): Promise<string> {
    const { webhooks: entries } = await get('mutatingwebhookconfiguration', 'agent-compliance');
    return entries[0]?.clientConfig.caBundle ?? '';
  }

  async function ready(webhook: Webhook): Promise<void> {
    await until(async () => (await send(webhook, 'GET', '/readyz')).status === 200);
  }

  async function running(options: StartOptions = {}): Promise<Webhook> {
    const webhook = await start(options);
    await ready(webhook);
    await pointTo(webhook);
    // The API server receives the changed configuration through a watch, with a delay.
    await until(async () => (await create(pod('probe'), true)).code === 0);
    return webhook;
  }

  const create = (object: Pod, dryRun = false, namespace = 'team') =>
    kubectl(
      [
        'create',
        UNVALIDATED,
        '-n',
        namespace,
        '-o',
        'json',
        '-f',
        '-',
        ...(dryRun ? ['--dry-run=server'] : []),
      ],
      object,
    );

  async function created(object: Pod, dryRun = false): Promise<Pod> {
    return JSON.parse((await expectOk(create(object, dryRun))).stdout) as Pod;
  }

  beforeAll(async () => {
    control = await startControlPlane();
    const namespaces = ['platform-system', 'team', 'strict'];
    for (const name of namespaces) {
      await expectOk(kubectl(['create', 'namespace', name]));
      // The controller that creates it does not run here.
      await kubectl(['create', 'serviceaccount', 'default', '-n', name]);
    }
    await kubectl(['label', 'namespace', 'strict', 'pod-security.kubernetes.io/enforce=restricted']);
    const rendered = await expectOk(
      run([
        clusterBinary('helm'),
        ...REQUIRED,
        'template',
        'agent-compliance',
        CHART,
        '-n',
        'platform-system',
        '--kube-version',
        '1.36.0',
      ]),
    );
    const objects = parseAllDocuments(rendered.stdout).map(
      (document) => document.toJS() as KubeObject | null,
    );
    await expectOk(
      kubectl([...APPLY, '-f', '-'], {
        apiVersion: 'v1',
        kind: 'List',
        items: objects.filter((object) => object),
      }),
    );
    webhookKubeconfig = join(dirname(control.kubeconfig), 'webhook.kubeconfig');
    await writeFile(webhookKubeconfig, await kubeconfigOf('agent-compliance-webhook'));
    // A policy takes about a second to become active.
    await until(async () => (await create(pod('guarded'), true)).code !== 0);
  });

  afterAll(async () => {
    await stop();
    await control.close();
  });

  async function kubeconfigOf(serviceAccount: string): Promise<string> {
    const { stdout } = await expectOk(
      kubectl(['create', 'token', serviceAccount, '-n', 'platform-system', '--duration=1h']),
    );
    return tokenKubeconfig(control.kubeconfig, { token: stdout.trim(), namespace: 'platform-system' });
  }

  test('replicas that start together agree on one CA, and only they have its key', async () => {
    const [one, two] = await Promise.all([start({ everyMs: 200 }), start({ everyMs: 200 })]);
    await Promise.all([ready(one), ready(two)]);
    const secret = await get('secret', '-n', 'platform-system', 'agent-compliance-webhook-tls');
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    const ca = secret.data?.['ca.crt'] ?? '';
    expect(await caBundle()).toBe(ca);
    const trusted = { ca: text(ca), servername: 'agent-compliance-webhook.platform-system.svc' };
    await until(async () => {
      const answers = await Promise.all([one, two].map((each) => send(each, 'GET', '/livez', trusted)));
      return answers.every(({ status }) => status === 200);
    });
    const controlPlane = await get('secret', '-n', 'platform-system', 'agent-compliance-control-plane-tls');
    expect(Object.keys(controlPlane.data ?? {}).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(controlPlane.data?.['ca.crt']).toBe(ca);
    await stop();
  });

  describe('while the webhook is available', () => {
    let webhook: Webhook;
    beforeAll(async () => {
      webhook = await running();
    });
    afterAll(stop);

    test('a dry run returns the same pod as a real creation', async () => {
      const essence = ({ spec, metadata }: Pod) => ({
        spec: JSON.parse(
          JSON.stringify(spec).replaceAll(/kube-api-access-\w{5}/g, 'kube-api-access'),
        ) as unknown,
        labels: metadata?.labels,
        annotations: metadata?.annotations,
      });
      const [dry, real] = [await created(pod('same'), true), await created(pod('same'))];
      expect(essence(dry)).toEqual(essence(real));
      await kubectl(['delete', 'pod', '-n', 'team', 'same', '--force', '--grace-period=0']);
    });

    test('the patched pod with all defaults of the API server needs no further patch', async () => {
      const injected = await created(pod('again'), true);
      const answer = await send(webhook, 'POST', '/mutate/pod', { body: reviewOf(injected) });
      expect(JSON.parse(answer.body)).toMatchObject({ response: { uid: 'u', allowed: true } });
      expect(JSON.parse(answer.body)).not.toHaveProperty('response.patch');
    });

    test('a pod in a restricted namespace is admitted', async () => {
      const restricted = {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      };
      const object = pod(
        'strict',
        {},
        { containers: [{ name: 'agent', image: 'a:1', securityContext: restricted }] },
      );
      expect(await create(object, true, 'strict')).toMatchObject({ code: 0, stderr: '' });
    });

    test('exposes exactly the documented metrics and increments them', async () => {
      await created(pod('counted'), true);
      // Not as a dry run, which sets no time.
      await create(pod('refused', { 'platform.io/inject': 'yes' }));
      const silent = pod('silent', { 'platform.io/inject': 'false' });
      await send(webhook, 'POST', '/mutate/pod', { body: reviewOf(silent) });
      const stranger = await issueCa({ now: new Date(), days: 1 });
      expect((await send(webhook, 'GET', '/livez', { ca: stranger.cert, servername: 'x' })).status).toBe(0);
      const lines = async () => (await send(webhook, 'GET', '/metrics')).body.split('\n');
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
      await expectOk(kubectl(['create', 'namespace', namespace]));
      await expectOk(kubectl(['create', 'serviceaccount', 'default', '-n', namespace]));
      const object = { apiVersion: 'v1', kind, metadata: { name: 'small', namespace }, spec };
      await expectOk(kubectl(['create', '-f', '-'], object));
    }
    const withResources = (name: string, annotations: Record<string, string> = {}) => {
      const resources = {
        requests: { cpu: '50m', memory: '64Mi' },
        limits: { cpu: '1', memory: '128Mi' },
      };
      return pod(name, annotations, { containers: [{ name: 'agent', image: 'agent:1', resources }] });
    };

    test('a LimitRange with defaults sets only those sidecar resources that the injector leaves unset', async () => {
      const limits = {
        type: 'Container',
        default: { cpu: '500m', memory: '160Mi', 'ephemeral-storage': '1Gi' },
        defaultRequest: { cpu: '10m', memory: '64Mi', 'ephemeral-storage': '10Mi' },
      };
      await limited('with-defaults', 'LimitRange', { limits: [limits] });
      const answer = await expectOk(create(pod('chat'), true, 'with-defaults'));
      const { spec } = JSON.parse(answer.stdout) as Pod;
      expect(spec.initContainers?.[0]?.resources).toEqual({
        requests: { cpu: '5m', memory: '96Mi', 'ephemeral-storage': '10Mi' },
        limits: { cpu: '500m', memory: '192Mi', 'ephemeral-storage': '1Gi' },
      });
      expect(spec.containers[0]?.resources).toMatchObject({ limits: { cpu: '500m', memory: '160Mi' } });
      const own = pod('own', { 'platform.io/inject': 'true', 'platform.io/sidecar-cpu-limit': '2' });
      const chosen = JSON.parse((await expectOk(create(own, true, 'with-defaults'))).stdout) as Pod;
      expect(chosen.spec.initContainers?.[0]?.resources?.limits).toMatchObject({ cpu: '2' });
    });

    test('a LimitRange with a maximum and a minimum rejects the pod with a clear message, and annotations make the sidecar fit', async () => {
      const limits = {
        type: 'Container',
        max: { memory: '128Mi', cpu: '2' },
        min: { cpu: '50m', memory: '32Mi' },
      };
      await limited('narrow', 'LimitRange', { limits: [limits] });
      const tooBig = await create(withResources('too-big'), true, 'narrow');
      expect(tooBig.code).toBe(1);
      expect(tooBig.stderr).toMatch(/maximum memory usage per Container is 128Mi, but limit is 192Mi/);
      expect(tooBig.stderr).toMatch(/minimum cpu usage per Container is 50m, but request is 5m/);
      const annotations = {
        'platform.io/sidecar-cpu-request': '50m',
        'platform.io/sidecar-memory-limit': '128Mi',
      };
      const fitted = await create(withResources('fitted', annotations), true, 'narrow');
      expect(fitted).toMatchObject({ code: 0, stderr: '' });
    });

    test('a ResourceQuota counts the sidecar’s requests, and rejects a pod above the quota with a clear message', async () => {
      const hard = {
        'requests.cpu': '100m',
        'requests.memory': '200Mi',
        'limits.cpu': '3',
        'limits.memory': '500Mi',
      };
      await limited('with-quota', 'ResourceQuota', { hard });
      // The controller that does this does not run here.
      const none = Object.fromEntries(Object.keys(hard).map((resource) => [resource, '0']));
      const status = JSON.stringify({ status: { hard, used: none } });
      const quota = ['-n', 'with-quota', 'quota', 'small'];
      await expectOk(kubectl(['patch', ...quota, '--subresource=status', `-p=${status}`]));
      const sized = (name: string) => withResources(name, { 'platform.io/sidecar-cpu-limit': '1' });
      // Pods are rejected until the API server has this status.
      await until(async () => (await create(sized('first'), true, 'with-quota')).code === 0);
      const unlimited = await create(withResources('unlimited'), true, 'with-quota');
      expect(unlimited.stderr).toContain(
        'failed quota: small: must specify limits.cpu for: platform-sidecar',
      );
      await expectOk(create(sized('first'), false, 'with-quota'));
      const { status: counted } = await get<{ status: { used: unknown } }>(...quota);
      expect(counted.used).toEqual({
        'requests.cpu': '55m',
        'requests.memory': '160Mi',
        'limits.cpu': '2',
        'limits.memory': '320Mi',
      });
      const second = await create(sized('second'), true, 'with-quota');
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(
        /exceeded quota: small, requested: .*requests\.cpu=55m.*used: .*requests\.cpu=55m.*limited: .*requests\.cpu=100m/,
      );
    });

    test.each([
      ['no annotation', undefined, 'team'],
      ['"false"', 'false', 'team'],
      ["the chart's own namespace", 'true', 'platform-system'],
      ['kube-system', 'true', 'kube-system'],
    ])('nothing is injected with %s', async (_case, inject, namespace) => {
      await kubectl(['create', 'serviceaccount', 'default', '-n', namespace]);
      const object = pod('plain', inject === undefined ? {} : { 'platform.io/inject': inject });
      if (inject === undefined) delete object.metadata?.annotations;
      const { stdout, code } = await create(object, true, namespace);
      expect(code).toBe(0);
      expect((JSON.parse(stdout) as Pod).spec.initContainers).toBeUndefined();
    });
  });

  describe('while the webhook is unavailable', () => {
    test('the guard rejects a pod that opts in, with the reason', async () => {
      const { code, stderr } = await create(pod('chat'), true);
      expect(code).toBe(1);
      expect(stderr).toContain(
        'pod chat is opted in (annotation platform.io/inject: true) but has no platform-sidecar: the injector did not answer; check its pods in namespace platform-system',
      );
    });

    test('pods that do not opt in are created', async () => {
      expect((await create(pod('plain', { 'platform.io/inject': 'false' }), true)).code).toBe(0);
    });
  });

  test('a corrupted Secret is created again', async () => {
    const data = { 'ca.crt': Buffer.from('broken').toString('base64') };
    await expectOk(
      kubectl([
        'patch',
        'secret',
        '-n',
        'platform-system',
        'agent-compliance-webhook-tls',
        `-p=${JSON.stringify({ data })}`,
      ]),
    );
    await running();
    expect((await created(pod('recovered'), true)).spec.initContainers?.[0]?.name).toBe('platform-sidecar');
    await stop();
  });
});

function pod(name: string, annotations: Record<string, string> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations: { 'platform.io/inject': 'true', ...annotations } },
    spec: {
      containers: [{ name: 'agent', image: 'agent:1', ports: [{ name: 'http', containerPort: 8000 }] }],
      ...spec,
    },
  };
}

function reviewOf(object: Pod): unknown {
  const kind = { group: '', version: 'v1', kind: 'Pod' };
  const about = { uid: 'u', operation: 'CREATE', namespace: 'team', kind, object };
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: about };
}

interface RequestOptions {
  ca?: string;
  servername?: string;
  body?: unknown;
}

/** A request to the webhook itself. Without `ca` the certificate is not verified, as in the kubelet's probes. */
function send(
  webhook: Webhook,
  method: string,
  path: string,
  { body, ...trust }: RequestOptions = {},
): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: webhook.port,
        method,
        path,
        agent: false,
        rejectUnauthorized: trust.ca !== undefined,
        headers: { 'content-type': 'application/json' },
        ...trust,
      },
      (response) => {
        let received = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body: received });
        });
      },
    );
    sent.on('error', (error) => {
      resolve({ status: 0, body: error.message });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function expectOk(result: ReturnType<typeof run>): ReturnType<typeof run> {
  const { code, stderr } = await result;
  if (code !== 0) throw new Error(stderr);
  return result;
}

const text = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');
