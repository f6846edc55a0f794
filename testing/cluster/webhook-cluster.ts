import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { startControlPlane, type ControlPlane } from '../../e2e/cluster/control.ts';
import { run } from '../../e2e/cluster/run.ts';
import { CHART } from '../../e2e/product.ts';
import type { Pod } from '../../core/injection/pod.ts';
import { KubeClient, type KubeResponse } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { APPLY, clusterBinary, UNVALIDATED } from '../machine/cluster-binary.ts';
import { optedInPod } from './pods.ts';
import { REGISTRY } from './rendered-chart.ts';
import { tokenKubeconfig } from './token-kubeconfig.ts';

const NAMESPACE = 'platform-system';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGURATION = `${ADMISSION}/mutatingwebhookconfigurations/agent-compliance`;
/** The configuration for manifests. */
export const MANIFEST_CONFIGURATION = 'agent-compliance-manifests';
const OF_MANIFESTS = `${ADMISSION}/validatingwebhookconfigurations/${MANIFEST_CONFIGURATION}`;
/** Generous timeout, not a performance limit. */
const PATIENCE_MS = 60_000;
/** The chart's objects for admission and the webhook's permissions; the programs run outside the cluster. */
const KINDS = [
  ...['Secret', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
  ...['CustomResourceDefinition', 'MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
  ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
];

interface Rendered {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: {
    template?: { spec: { containers: { env?: { name: string; value?: string }[] }[] } };
    validations?: { expression: string; message: string }[];
  };
}

/** A real API server with the chart's webhook configuration, guard, permissions and empty Secrets. */
export class WebhookCluster {
  readonly control: ControlPlane;
  /** As an administrator. */
  readonly client: KubeClient;
  /** Path of the kubeconfig of the webhook's ServiceAccount. */
  readonly kubeconfig: string;
  readonly #secrets: Rendered[];
  #configured = 0;

  private constructor(control: ControlPlane, kubeconfig: string, secrets: Rendered[]) {
    this.control = control;
    this.client = new KubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
    this.kubeconfig = kubeconfig;
    this.#secrets = secrets;
  }

  /**
   * `team` and the given namespaces get a ServiceAccount `default`, because no controller creates it here.
   * `values`: chart values in the format of `--set-json`.
   */
  static async open(
    namespaces: readonly string[] = [],
    values: readonly string[] = [],
  ): Promise<WebhookCluster> {
    const control = await startControlPlane();
    try {
      const objects = (await renderedChart(values)).filter(
        ({ kind, metadata }) => KINDS.includes(kind) && (metadata.namespace ?? NAMESPACE) === NAMESPACE,
      );
      const kubeconfig = join(dirname(control.kubeconfig), 'webhook.kubeconfig');
      const secrets = objects.filter(({ metadata }) => metadata.name.endsWith('-tls'));
      const cluster = new WebhookCluster(control, kubeconfig, secrets);
      await cluster.apply([NAMESPACE, 'team', ...namespaces].flatMap(namespaceWithAccount));
      await cluster.apply(objects);
      await writeFile(kubeconfig, await cluster.#kubeconfigOf('agent-compliance-webhook'));
      // A policy takes about a second to become effective; until then a pod without injection is admitted.
      while ((await cluster.create(optedInPod())).ok) await sleep(100);
      return cluster;
    } catch (error) {
      await control.close();
      throw error;
    }
  }

  /**
   * Changes the guard with other chart values and waits about a second until it is effective. Resolves with the environment
   * of the webhook in the chart.
   */
  async configure(values: readonly string[]): Promise<Record<string, string>> {
    const objects = await renderedChart(values);
    const policies = objects.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'));
    const mark = `guard-${(this.#configured += 1)}`;
    const expression = `object.metadata.?name.orValue('') != '${mark}'`;
    const message = `${mark} is in force`;
    for (const { spec } of policies) spec?.validations?.unshift({ expression, message });
    await this.apply(policies);
    const probe = optedInPod({ metadata: { name: mark } });
    for (const end = Date.now() + PATIENCE_MS; ;) {
      const response = await this.create(probe);
      if (!response.ok && response.message.includes(message)) break;
      if (Date.now() > end) throw new Error('the guard did not become effective');
      await sleep(50);
    }
    const webhook = objects.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-webhook'),
    );
    const env = webhook?.spec?.template?.spec.containers[0]?.env ?? [];
    return Object.fromEntries(
      env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
    );
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.control.close();
  }

  kubectl(args: readonly string[], input = ''): ReturnType<typeof run> {
    return run([clusterBinary('kubectl'), '--kubeconfig', this.control.kubeconfig, ...args], { input });
  }

  async apply(items: readonly unknown[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, stderr } = await this.kubectl([...APPLY, '-f', '-'], list);
    if (code !== 0) throw new Error(stderr);
  }

  /** Creates a pod as a dry run on reused connections; unknown members are rejected, as with kubectl. */
  create(pod: Pod, namespace = 'team'): Promise<KubeResponse<Pod>> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const query = { dryRun: 'All', fieldValidation: 'Strict' };
    // The default of the client is too short for a pod of 3 MB on a busy machine.
    return this.client.send<Pod>({ method: 'POST', path, query, body: pod, timeoutMs: PATIENCE_MS });
  }

  /** The entries of a Secret of the release. */
  async secret(name: string): Promise<Record<string, string>> {
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/${name}`;
    const { data = {} } = await this.#get<{ data?: Record<string, string> }>(path);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
    );
  }

  /** The CA bundle of the API server, PEM, for pods or for manifests. */
  async caBundle(of: 'pods' | 'manifests' = 'pods'): Promise<string> {
    const { caBundle = '' } = await this.#clientConfig(of === 'pods' ? CONFIGURATION : OF_MANIFESTS);
    return Buffer.from(caBundle, 'base64').toString('utf8');
  }

  /** Directs the API server to the webhook on this port; resolves when a pod that opts in is admitted. */
  async pointTo(port: number, probe = optedInPod()): Promise<void> {
    await this.#setUrl(CONFIGURATION, `https://127.0.0.1:${port}/mutate/pod`);
    const end = Date.now() + PATIENCE_MS;
    while (!(await this.create(probe)).ok) {
      if (Date.now() > end) throw new Error('no pod that opts in was admitted');
      await sleep(50);
    }
  }

  /** Directs reviews of manifests to the webhook on this port. */
  async pointManifestsTo(port: number): Promise<void> {
    await this.#setUrl(OF_MANIFESTS, `https://127.0.0.1:${port}/validate/manifest`);
  }

  /** Resets to the state after the installation: empty Secrets and no CA bundle. */
  async forgetCertificates(): Promise<void> {
    await this.#patch(CONFIGURATION, [{ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: '' }]);
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: this.#secrets });
    const { code, stderr } = await this.kubectl(['replace', UNVALIDATED, '-f', '-'], list);
    if (code !== 0) throw new Error(stderr);
  }

  /** Sum of a metric of the API server over the series with matching labels. */
  async metric(name: string, labels = /(?:)/): Promise<number> {
    const { stdout } = await this.kubectl(['get', '--raw', '/metrics']);
    const lines = stdout.split('\n').filter((line) => line.startsWith(`${name}{`) && labels.test(line));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  async #clientConfig(path: string): Promise<{ caBundle?: string; service?: unknown }> {
    const { webhooks } = await this.#get<{ webhooks: { clientConfig: object }[] }>(path);
    return webhooks[0]?.clientConfig ?? {};
  }

  async #setUrl(configuration: string, url: string): Promise<void> {
    const hasService = (await this.#clientConfig(configuration)).service !== undefined;
    await this.#patch(configuration, [
      ...(hasService ? [{ op: 'remove', path: '/webhooks/0/clientConfig/service' }] : []),
      { op: 'add', path: '/webhooks/0/clientConfig/url', value: url },
    ]);
  }

  async #get<T>(path: string): Promise<T> {
    const response = await this.client.send<T>({ method: 'GET', path });
    if (!response.ok) throw new Error(response.message);
    return response.body;
  }

  async #patch(path: string, body: unknown[]): Promise<void> {
    const contentType = 'application/json-patch+json';
    const response = await this.client.send({ method: 'PATCH', path, body, contentType });
    if (!response.ok) throw new Error(response.message);
  }

  async #kubeconfigOf(account: string): Promise<string> {
    const { stdout } = await this.kubectl(['create', 'token', account, '-n', NAMESPACE, '--duration=1h']);
    return tokenKubeconfig(this.control.kubeconfig, { token: stdout.trim(), namespace: NAMESPACE });
  }
}

async function renderedChart(values: readonly string[]): Promise<Rendered[]> {
  const args = ['template', 'agent-compliance', CHART, '-n', NAMESPACE, '--kube-version', '1.36.0'];
  const set = [`image.registry="${REGISTRY}"`, ...values].flatMap((value) => ['--set-json', value]);
  const { stdout, stderr, code } = await run([clusterBinary('helm'), ...args, ...set]);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
}

function namespaceWithAccount(name: string): unknown[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } },
  ];
}
