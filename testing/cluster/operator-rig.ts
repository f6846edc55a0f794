import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { AgentObservation } from '../../core/observation/observation.ts';
import { startControlPlane, type ControlPlane } from '../../e2e/cluster/control.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { KubeClient, KubeError } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { expectOk, listObjects } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../../kube/resources.ts';
import { OPERATOR_PERMISSIONS } from './operator-permissions.ts';
import { apiAudit, type ApiAudit } from './api-audit.ts';
import { ProcessRig, type RunningPart } from '../machine/process-rig.ts';
import { tokenKubeconfig } from './token-kubeconfig.ts';

const SYSTEM = 'platform-system';
/** Timeout for requests to an operator; long enough for a busy machine. */
const RESPONSE_MS = 20_000;
/** Each attempt waits for 15 seconds. */
const POST_TRIES = 8;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

interface Named {
  metadata: { name: string; [field: string]: unknown };
  [field: string]: unknown;
}

interface Made {
  metadata: { uid: string };
}

/** The shipped operator as a separate process. */
export interface OperatorProcess extends RunningPart {
  /** Status and reason of /readyz; null: no response. */
  readiness(): Promise<{ status: number; detail: string } | null>;
  isLive(): Promise<boolean>;
  /** Sum of a metric over the series with matching labels; 0 if there is none. */
  metric(name: string, labels?: RegExp): Promise<number>;
}

/** A real API server without nodes or controllers, its audit log, and operators with the product's permissions. */
export class OperatorRig {
  readonly control: ControlPlane;
  /** As an administrator. */
  readonly client: KubeClient;
  readonly audit: ApiAudit;
  readonly processes: ProcessRig;

  private constructor(control: ControlPlane, processes: ProcessRig, audit: ApiAudit) {
    this.control = control;
    this.processes = processes;
    this.audit = audit;
    this.client = new KubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
  }

  /** `namespaces`: for agents; their ServiceAccount `default` is created explicitly, because no controller runs. */
  static async open(namespaces: readonly string[]): Promise<OperatorRig> {
    const processes = await ProcessRig.open();
    const audit = apiAudit(processes.folder);
    const control = await startControlPlane({ apiServerArgs: audit.args });
    const rig = new OperatorRig(control, processes, audit);
    try {
      await rig.#install(namespaces);
      return rig;
    } catch (error) {
      await rig.close();
      throw error;
    }
  }

  /** Resolves when this leader has reconciled every observation and its queue is empty. */
  async inSync(leader: OperatorProcess): Promise<void> {
    const { length } = await this.observations();
    await until(
      'a look at every agent',
      async () => {
        // Reading the metrics also causes work for the operator.
        await sleep(250);
        const done = await leader.metric('controller_runtime_reconcile_total', /controller="agents"/);
        return done >= length && (await leader.metric('workqueue_depth')) === 0;
      },
      180_000,
    );
  }

  /** Resolves when nothing was written for two seconds. */
  async quiet(): Promise<void> {
    let writes = -1;
    await until('the end of the writes', async () => {
      const before = writes;
      writes = this.audit.writes().length;
      if (writes === before) return true;
      await sleep(2_000);
      return false;
    });
  }

  /** Stops every process, even if it is suspended. */
  stopAll(): Promise<void> {
    return this.processes.stopAll();
  }

  async close(): Promise<void> {
    await this.processes.close();
    await this.client.close();
    await this.control.close();
  }

  /** Creates an object, even if the API server responds more slowly than the client's timeout. */
  async post(path: string, body: Named): Promise<Made> {
    for (let tries = 1; ; tries += 1)
      try {
        const response = await this.client.send<Made>({ method: 'POST', path, body });
        // A request without a response may have been executed.
        const isDone = tries > 1 && !response.ok && response.reason === 'AlreadyExists';
        const made = { method: 'GET' as const, path: `${path}/${body.metadata.name}` };
        return expectOk(isDone ? await this.client.send<Made>(made) : response);
      } catch (error) {
        if (!(error instanceof KubeError && error.status === 0) || tries === POST_TRIES) throw error;
      }
  }

  async observations(): Promise<AgentObservation[]> {
    return (await listObjects(this.client, AGENT_OBSERVATIONS)).items;
  }

  /**
   * Starts an operator with the ServiceAccount `name`, so that the audit log distinguishes it from others. `url`:
   * address of the API server, or of a proxy in front of it.
   */
  async startOperator(name: string, url = this.control.url): Promise<OperatorProcess> {
    const [port = 0] = await freePorts(1);
    const base = `http://127.0.0.1:${port}`;
    const started = await this.processes.start('operator', /"message":"listening"/, {
      LOG_FORMAT: 'json',
      // As in the chart.
      NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=8',
      PORT: String(port),
      POD_NAME: name,
      POD_NAMESPACE: SYSTEM,
      KUBECONFIG: await this.kubeconfigOf(name, url),
    });
    return { ...started, ...probesOf(base) };
  }

  /** Path of a kubeconfig with a token of the ServiceAccount; `url`: API server or a proxy with its certificate. */
  async kubeconfigOf(name: string, url: string): Promise<string> {
    const path = `/api/v1/namespaces/${SYSTEM}/serviceaccounts/${name}/token`;
    const { status } = expectOk(
      await this.client.send<{ status: { token: string } }>({ method: 'POST', path, body: { spec: {} } }),
    );
    const access = { token: status.token, namespace: SYSTEM, server: url };
    const file = join(this.processes.folder, `${name}-${new URL(url).port}.kubeconfig`);
    await writeFile(file, tokenKubeconfig(this.control.kubeconfig, access), { mode: 0o600 });
    return file;
  }

  async #install(namespaces: readonly string[]): Promise<void> {
    for (const plural of ['agentobservations', 'agentpolicies']) {
      const file = join(import.meta.dirname, `../../crds/${plural}.yaml`);
      const crd = parse(await readFile(file, 'utf8')) as Named;
      await this.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
    }
    for (const name of [SYSTEM, ...namespaces]) {
      await this.post('/api/v1/namespaces', { metadata: { name } });
      await this.post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } });
    }
    const lease = { metadata: { name: 'platform-operator' } };
    await this.post(`/apis/coordination.k8s.io/v1/namespaces/${SYSTEM}/leases`, lease);
    const { cluster, namespace } = OPERATOR_PERMISSIONS;
    await this.post(`${RBAC}/clusterroles`, { metadata: { name: 'operator' }, rules: cluster });
    const inside = `${RBAC}/namespaces/${SYSTEM}`;
    await this.post(`${inside}/roles`, { metadata: { name: 'operator' }, rules: namespace });
    await until('the CRD', () => this.#serves(collectionPath(AGENT_OBSERVATIONS)));
  }

  async #serves(path: string): Promise<boolean> {
    return (await this.client.send({ method: 'GET', path })).ok;
  }

  /** Creates a ServiceAccount with exactly the operator's permissions. */
  async addAccount(name: string): Promise<void> {
    const subjects = [{ kind: 'ServiceAccount', name, namespace: SYSTEM }];
    const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'operator' });
    await this.post(`/api/v1/namespaces/${SYSTEM}/serviceaccounts`, { metadata: { name } });
    const binding = { metadata: { name }, subjects };
    await this.post(`${RBAC}/clusterrolebindings`, { ...binding, roleRef: roleRef('ClusterRole') });
    await this.post(`${RBAC}/namespaces/${SYSTEM}/rolebindings`, { ...binding, roleRef: roleRef('Role') });
  }
}

function probesOf(base: string): Pick<OperatorProcess, 'readiness' | 'isLive' | 'metric'> {
  const get = (path: string) =>
    fetch(base + path, { signal: AbortSignal.timeout(RESPONSE_MS) }).catch(() => null);
  return {
    async readiness() {
      const response = await get('/readyz');
      const body = (await response?.json().catch(() => null)) as { detail?: string } | null;
      return response === null ? null : { status: response.status, detail: body?.detail ?? '' };
    },
    isLive: async () => (await get('/livez'))?.ok === true,
    async metric(name, labels = /(?:)/) {
      const text = (await (await get('/metrics'))?.text()) ?? '';
      const lines = text.split('\n').filter((line) => /^\w+/.exec(line)?.[0] === name && labels.test(line));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
  };
}

/** Polls until the condition is true; returns the elapsed milliseconds. Throws after `ms`. */
export async function until(
  what: string,
  look: () => Promise<boolean> | boolean,
  ms = 120_000,
): Promise<number> {
  const began = performance.now();
  while (!(await look())) {
    if (performance.now() - began > ms) throw new Error(`${what}: not reached within ${ms} ms`);
    await sleep(100);
  }
  return performance.now() - began;
}
