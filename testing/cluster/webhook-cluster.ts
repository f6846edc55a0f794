import { request } from 'node:https';
import { parseAllDocuments } from 'yaml';
import { startControlPlane, type ControlPlane } from '../../e2e/cluster/control.ts';
import { run } from '../../e2e/cluster/run.ts';
import { CHART } from '../../e2e/product.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { KubeResponse } from '../../kube/client.ts';
import { expectOk } from '../../kube/objects.ts';
import { silentLogger, type Logger } from '../../runtime/logger.ts';
import { readConfig } from '../../webhook/config.ts';
import { startWebhook, type StartOptions, type Webhook } from '../../webhook/start.ts';
import { clusterBinary } from '../machine/cluster-binary.ts';
import { until } from '../time/until.ts';
import { ApiCluster } from './api-cluster.ts';
import { optedInPod } from './pods.ts';
import { REGISTRY } from './rendered-chart.ts';

const NAMESPACE = 'platform-system';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGURATION = `${ADMISSION}/mutatingwebhookconfigurations/agent-compliance`;
/** The configuration for manifests. */
export const MANIFEST_CONFIGURATION = 'agent-compliance-manifests';
const OF_MANIFESTS = `${ADMISSION}/validatingwebhookconfigurations/${MANIFEST_CONFIGURATION}`;
/** Generous timeout, not a performance limit. */
const PATIENCE_MS = 60_000;
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
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
export class WebhookCluster extends ApiCluster {
  /** Path of the kubeconfig of the webhook's ServiceAccount. */
  readonly kubeconfig: string;
  readonly #secrets: Rendered[];
  #configured = 0;

  private constructor(control: ControlPlane, kubeconfig: string, secrets: Rendered[]) {
    super(control);
    this.kubeconfig = kubeconfig;
    this.#secrets = secrets;
  }

  /**
   * `team` and the given namespaces get a ServiceAccount `default`. `values`: chart values in the format of `--set-json`.
   */
  static async open(
    namespaces: readonly string[] = [],
    values: readonly string[] = [],
  ): Promise<WebhookCluster> {
    const api = new ApiCluster(await startControlPlane());
    try {
      const objects = (await renderedChart(values)).filter(
        ({ kind, metadata }) => KINDS.includes(kind) && (metadata.namespace ?? NAMESPACE) === NAMESPACE,
      );
      await api.namespaces(NAMESPACE, 'team', ...namespaces);
      await api.apply(objects);
      const kubeconfig = await api.kubeconfigOf(NAMESPACE, 'agent-compliance-webhook', {
        namespace: NAMESPACE,
      });
      const secrets = objects.filter(({ metadata }) => metadata.name.endsWith('-tls'));
      const cluster = new WebhookCluster(api.control, kubeconfig, secrets);
      // A policy takes about a second to become effective; until then a pod without injection is admitted.
      await until(async () => !(await cluster.create(optedInPod())).ok, 'the guard');
      return cluster;
    } catch (error) {
      await api.close();
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
    await until(async () => {
      const response = await this.create(probe);
      return !response.ok && response.message.includes(message);
    }, 'the guard');
    const webhook = objects.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-webhook'),
    );
    const env = webhook?.spec?.template?.spec.containers[0]?.env ?? [];
    return Object.fromEntries(
      env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
    );
  }

  /** Starts a webhook in this process with this environment. */
  async startWebhook(
    env: Readonly<Record<string, string>>,
    { logger = silentLogger, ...options }: StartOptions & { logger?: Logger; signal?: AbortSignal } = {},
  ): Promise<Webhook> {
    const { signal = new AbortController().signal, ...rest } = options;
    const config = readConfig({ KUBECONFIG: this.kubeconfig, ...env });
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    return startWebhook({ ...config.config, PORT: 0 }, logger, signal, rest);
  }

  /** Creates a pod as a dry run on reused connections; unknown members are rejected, as with kubectl. */
  create(pod: Pod, namespace = 'team', dryRun = true): Promise<KubeResponse<Pod>> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const query = { ...(dryRun && { dryRun: 'All' }), fieldValidation: 'Strict' };
    // The default of the client is too short for a pod of 3 MB on a busy machine.
    return this.client.send<Pod>({ method: 'POST', path, query, body: pod, timeoutMs: PATIENCE_MS });
  }

  /** The entries of a Secret of the release. */
  async secret(name: string): Promise<Record<string, string>> {
    const { data = {} } = await this.get<{ data?: Record<string, string> }>(`${SECRETS}/${name}`);
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
    await until(async () => (await this.create(probe)).ok, 'the admission of a pod that opts in');
  }

  /** Directs reviews of manifests to the webhook on this port. */
  async pointManifestsTo(port: number): Promise<void> {
    await this.#setUrl(OF_MANIFESTS, `https://127.0.0.1:${port}/validate/manifest`);
  }

  /** Resets to the state after the installation: empty Secrets and no CA bundle. */
  async forgetCertificates(): Promise<void> {
    const operation = { op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: '' };
    await this.patch(CONFIGURATION, [operation], 'json');
    for (const body of this.#secrets) {
      const path = `${SECRETS}/${body.metadata.name}`;
      expectOk(await this.client.send({ method: 'PUT', path, body }));
    }
  }

  /** Sum of a metric of the API server over the series with matching labels. */
  async metric(name: string, labels = /(?:)/): Promise<number> {
    const { stdout } = await this.kubectl(['get', '--raw', '/metrics']);
    const lines = stdout.split('\n').filter((line) => line.startsWith(`${name}{`) && labels.test(line));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  async #clientConfig(path: string): Promise<{ caBundle?: string; service?: unknown }> {
    const { webhooks } = await this.get<{ webhooks: { clientConfig: object }[] }>(path);
    return webhooks[0]?.clientConfig ?? {};
  }

  async #setUrl(configuration: string, url: string): Promise<void> {
    const hasService = (await this.#clientConfig(configuration)).service !== undefined;
    const operations = [
      ...(hasService ? [{ op: 'remove', path: '/webhooks/0/clientConfig/service' }] : []),
      { op: 'add', path: '/webhooks/0/clientConfig/url', value: url },
    ];
    await this.patch(configuration, operations, 'json');
  }
}

/** Options of a request to a webhook. Without `ca` the certificate is not verified, as in the kubelet's probes. */
interface WebhookRequest {
  method?: string;
  ca?: string;
  servername?: string;
  body?: unknown;
}

/** A request to a webhook itself, on a connection of its own. Status 0: no response; then the body is the error. */
export function askWebhook(
  port: number,
  path: string,
  { body, ...options }: WebhookRequest = {},
): Promise<{ status: number; body: string }> {
  const headers = { 'content-type': 'application/json' };
  const trust = { rejectUnauthorized: options.ca !== undefined, agent: false };
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, headers, ...trust, ...options }, (response) => {
      let received = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: received }));
    });
    sent.on('error', (error) => resolve({ status: 0, body: error.message }));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function renderedChart(values: readonly string[]): Promise<Rendered[]> {
  const args = ['template', 'agent-compliance', CHART, '-n', NAMESPACE, '--kube-version', '1.36.0'];
  const set = [`image.registry="${REGISTRY}"`, ...values].flatMap((value) => ['--set-json', value]);
  const { stdout, stderr, code } = await run([clusterBinary('helm'), ...args, ...set]);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
}
