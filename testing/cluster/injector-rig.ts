import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startControlPlane, type ControlPlane } from '../../e2e/cluster/control.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { PolicyCondition } from '../../kube/canary-condition.ts';
import { collectionPath, type Resource } from '../../kube/resources.ts';
import { startOperator, type Operator } from '../../operator/start.ts';
import { systemClock } from '../../runtime/clock.ts';
import { silentLogger, type Logger } from '../../runtime/logger.ts';
import { readConfig as readWebhookConfig } from '../../webhook/config.ts';
import { startWebhook, type StartOptions, type Webhook } from '../../webhook/start.ts';
import { apiAudit, type ApiAudit } from './api-audit.ts';
import { ApiCluster } from './api-cluster.ts';
import { configOf } from './operator-config.ts';
import { until } from './operator-rig.ts';
import { render, RELEASE_NAMESPACE as SYSTEM } from './rendered-chart.ts';
import { stopProcess } from '../machine/stop-process.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGURATION = `${ADMISSION}/mutatingwebhookconfigurations/agent-compliance`;
export const SIDECAR_IMAGE = 'registry.example/agent-compliance/sidecar:0.1.0';
/** Namespace of the canary. */
export const CANARY_POLICY = 'agent-compliance-canary';

export interface Policy {
  metadata: { resourceVersion: string; generation: number };
  spec: { validations: { expression: string; reason: string }[] };
  status: { observedGeneration?: number; conditions?: PolicyCondition[] };
}

/** A stored Event. */
export interface StoredEvent {
  regarding: { kind: string; name: string };
  type: string;
  reason: string;
  note: string;
}

/** A real API server with controllers and the chart; the webhook and the operator run in this process. */
export class InjectorRig extends ApiCluster {
  readonly audit: ApiAudit;
  readonly #scratch: string;
  /** Offset of the operator's monotonic clock in milliseconds. */
  #aheadMs = 0;
  #webhook: Webhook | null = null;
  #operator: Operator | null = null;

  private constructor(scratch: string, audit: ApiAudit, control: ControlPlane) {
    super(control);
    [this.#scratch, this.audit] = [scratch, audit];
  }

  static async open(): Promise<InjectorRig> {
    const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-injector-'));
    const audit = apiAudit(scratch);
    const [control, items] = await Promise.all([
      startControlPlane({ controllers: true, apiServerArgs: audit.args }),
      render('canary.intervalSeconds=1'),
    ]);
    const rig = new InjectorRig(scratch, audit, control);
    try {
      // A node without a kubelet, for which a DaemonSet still creates a pod.
      await rig.post('/api/v1/nodes', { metadata: { name: 'node1' } });
      await rig.post('/api/v1/namespaces', { metadata: { name: SYSTEM } });
      await rig.apply(items);
      // A policy takes about a second to become effective.
      await until('the guard', async () => (await rig.refused(optedIn('probe'))) !== null);
      return rig;
    } catch (error) {
      await rig.close();
      throw error;
    }
  }

  /** Stops the webhook and the operator. */
  async stop(): Promise<void> {
    await Promise.all([this.stopInjector(), this.stopOperator()]);
  }

  override async close(): Promise<void> {
    await this.stop();
    await super.close();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  async list<T>(resource: Resource<T>, namespace: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(collectionPath(resource, namespace))).items;
  }

  /** The rejection message for a pod (dry run); null: accepted. */
  async refused(pod: object): Promise<string | null> {
    const path = '/api/v1/namespaces/default/pods';
    const response = await this.client.send({ method: 'POST', path, query: { dryRun: 'All' }, body: pod });
    return response.ok ? null : response.message;
  }

  /** Events with this reason in a namespace. */
  async events(reason: string, namespace: string): Promise<StoredEvent[]> {
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    return (await this.get<{ items: StoredEvent[] }>(path)).items.filter((each) => each.reason === reason);
  }

  async firstEvent(reason: string, namespace: string): Promise<StoredEvent> {
    let found: StoredEvent | undefined;
    await until(`an Event ${reason} in ${namespace}`, async () => {
      [found] = await this.events(reason, namespace);
      return found !== undefined;
    });
    return found!;
  }

  /** Starts the webhook; the returned function registers it with the API server. */
  async prepareInjector(
    env: Record<string, string> = {},
    options: StartOptions & { logger?: Logger } = {},
  ): Promise<() => Promise<void>> {
    const KUBECONFIG = await this.kubeconfigOf(SYSTEM, 'agent-compliance-webhook');
    const config = readWebhookConfig({ SIDECAR_IMAGE, KUBECONFIG, ...env });
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    const { logger = silentLogger, ...rest } = options;
    const { signal } = new AbortController();
    const webhook = await startWebhook({ ...config.config, PORT: 0 }, logger, signal, rest);
    this.#webhook = webhook;
    let caBundle: string | undefined;
    await until('the caBundle', async () => {
      const { webhooks } = await this.get<{ webhooks: { clientConfig: { caBundle?: string } }[] }>(
        CONFIGURATION,
      );
      caBundle = webhooks[0]?.clientConfig.caBundle;
      return caBundle !== undefined && caBundle !== '';
    });
    // The webhook runs outside the cluster.
    const value = { caBundle, url: `https://127.0.0.1:${webhook.port}/mutate/pod` };
    return () => this.patch(CONFIGURATION, [{ op: 'add', path: '/webhooks/0/clientConfig', value }], 'json');
  }

  async startInjector(...how: Parameters<InjectorRig['prepareInjector']>): Promise<void> {
    await (
      await this.prepareInjector(...how)
    )();
  }

  async stopInjector(): Promise<void> {
    await this.#webhook?.close();
    this.#webhook = null;
  }

  async startOperator(env: Record<string, string> = {}): Promise<void> {
    const config = configOf({
      POD_NAMESPACE: SYSTEM,
      POD_NAME: 'operator-1',
      KUBECONFIG: await this.kubeconfigOf(SYSTEM, 'agent-compliance-operator'),
      GUARD_POLICY: 'agent-compliance-guard',
      CANARY_NAMESPACE: 'platform-canary',
      CANARY_POLICY,
      CANARY_SECONDS: '1',
      SIDECAR_IMAGE,
      ...env,
    });
    const clock = { ...systemClock, monotonicMs: () => performance.now() + this.#aheadMs };
    this.#operator = await startOperator(config, silentLogger, new AbortController().signal, { clock });
  }

  /** Advances the operator's clock by `ms` milliseconds. */
  skip(ms: number): void {
    this.#aheadMs += ms;
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.close();
    this.#operator = null;
  }

  /** Status of the operator's /readyz. */
  async readiness(): Promise<number> {
    return (await fetch(`http://127.0.0.1:${this.#operator?.port}/readyz`)).status;
  }

  /** A metric of the operator: a series with labels, or a name for the sum of its series; null: absent. */
  async metric(series: string): Promise<number | null> {
    const text = await (await fetch(`http://127.0.0.1:${this.#operator?.port}/metrics`)).text();
    const found = text
      .split('\n')
      .filter((each) => each.startsWith(`${series} `) || each.startsWith(`${series}{`));
    if (found.length === 0) return null;
    return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Resolves when the operator's canary has had this outcome the given number of times since its start. */
  async checked(outcome: string, times = 1): Promise<void> {
    await until(`${times} checks that say ${outcome}`, async () => {
      const made = await this.metric(`platform_operator_canary_checks_total{outcome="${outcome}"}`);
      return (made ?? 0) >= times;
    });
  }

  async policy(): Promise<Policy> {
    return this.get(`${ADMISSION}/validatingadmissionpolicies/${CANARY_POLICY}`);
  }

  async patchPolicy(spec: Partial<Policy['spec']>): Promise<void> {
    await this.patch(`${ADMISSION}/validatingadmissionpolicies/${CANARY_POLICY}`, { spec });
  }

  async condition(): Promise<PolicyCondition | undefined> {
    return (await this.policy()).status.conditions?.find(({ type }) => type === 'CanaryPassing');
  }

  /** Stops the controllers, so that no more pods are created. */
  async suspendControllers(): Promise<void> {
    await stopProcess(this.#controllers());
  }

  resumeControllers(): void {
    process.kill(this.#controllers(), 'SIGCONT');
  }

  #controllers(): number {
    const folder = dirname(dirname(this.control.kubeconfig));
    return Number(readFileSync(join(folder, 'kube-controller-manager.pid'), 'utf8'));
  }
}

/** Pod template of a workload. */
export const podTemplate = (annotations: Record<string, string> = { 'platform.io/inject': 'true' }) => ({
  metadata: { labels: { app: 'x' }, annotations },
  spec: { containers: [{ name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] }] },
});

/** A pod that opts in. */
export const optedIn = (name: string, annotations?: Record<string, string>): Pod => ({
  ...podTemplate(annotations),
  metadata: { name, ...podTemplate(annotations).metadata },
});
