import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { AgentObservation } from '../core/observation/observation.ts';
import { startControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { createKubeClient, KubeError, type KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { expectOk, listObjects } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../kube/resources.ts';
import { OPERATOR_PERMISSIONS } from '../operator/permissions.ts';
import { apiAudit, type ApiAudit } from './api-audit.ts';
import { ProcessRig, type RunningPart } from './process-rig.ts';
import { tokenKubeconfig } from './token-kubeconfig.ts';

const SYSTEM = 'platform-system';
/** How long an operator may take to answer a question: a machine may be busy, one that hangs is another matter. */
const ANSWER_MS = 20_000;
/** Each waits for a quarter of a minute. */
const POST_TRIES = 8;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

interface Named {
  metadata: { name: string; [field: string]: unknown };
  [field: string]: unknown;
}

interface Made {
  metadata: { uid: string };
}

/** An operator as it is shipped, in a process of its own. */
export interface OperatorProcess extends RunningPart {
  /** Status and reason of /readyz; null: it does not answer. */
  readiness(): Promise<{ status: number; detail: string } | null>;
  isLive(): Promise<boolean>;
  /** The sum of a metric over the series whose labels match; 0 when there is none. */
  metric(name: string, labels?: RegExp): Promise<number>;
}

/** A real API server without nodes or controllers, with operators whose rights are the product's, and its audit log. */
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
    this.client = createKubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
  }

  /** `namespaces`: for agents; they have a ServiceAccount `default`, which no controller makes here. */
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

  /** Resolves when this leader has looked at every observation and has nothing left to do. */
  async inSync(leader: OperatorProcess): Promise<void> {
    const { length } = await this.observations();
    await until(
      'a look at every agent',
      async () => {
        // Reading the metrics is work for the operator, too.
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

  /** Ends every process, also one that is suspended. */
  stopAll(): Promise<void> {
    return this.processes.stopAll();
  }

  async close(): Promise<void> {
    await this.processes.close();
    await this.client.close();
    await this.control.close();
  }

  /** Makes an object, even where the API server keeps its clients waiting for longer than they do. */
  async post(path: string, body: Named): Promise<Made> {
    for (let tries = 1; ; tries += 1)
      try {
        const answer = await this.client.send<Made>({ method: 'POST', path, body });
        // What was not answered may have been done.
        const isDone = tries > 1 && !answer.ok && answer.reason === 'AlreadyExists';
        const made = { method: 'GET' as const, path: `${path}/${body.metadata.name}` };
        return expectOk(isDone ? await this.client.send<Made>(made) : answer);
      } catch (error) {
        if (!(error instanceof KubeError && error.status === 0) || tries === POST_TRIES) throw error;
      }
  }

  async observations(): Promise<AgentObservation[]> {
    return (await listObjects(this.client, AGENT_OBSERVATIONS)).items;
  }

  /**
   * Starts an operator that signs in as the ServiceAccount `name`, so that the audit log tells it from others. `url`:
   * where it finds the API server, for a proxy in between.
   */
  async startOperator(name: string, url = this.control.url): Promise<OperatorProcess> {
    const [port = 0] = await freePorts(1);
    const base = `http://127.0.0.1:${port}`;
    const started = await this.processes.start('operator', /"message":"listens"/, {
      LOG_FORMAT: 'json',
      // As in the chart.
      NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=8',
      PORT: String(port),
      POD_NAME: name,
      POD_NAMESPACE: SYSTEM,
      KUBECONFIG: await this.kubeconfigOf(name, url),
    });
    return { ...started, ...asked(base) };
  }

  /** Path of a kubeconfig with a token of the ServiceAccount; `url`: of the API server, or of a proxy with its certificate. */
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
    const crd = parse(
      await readFile(join(import.meta.dirname, '../crds/agentobservations.yaml'), 'utf8'),
    ) as Named;
    await this.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
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

  /** A ServiceAccount with the operator's rights and no other. */
  async addAccount(name: string): Promise<void> {
    const subjects = [{ kind: 'ServiceAccount', name, namespace: SYSTEM }];
    const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'operator' });
    await this.post(`/api/v1/namespaces/${SYSTEM}/serviceaccounts`, { metadata: { name } });
    const binding = { metadata: { name }, subjects };
    await this.post(`${RBAC}/clusterrolebindings`, { ...binding, roleRef: roleRef('ClusterRole') });
    await this.post(`${RBAC}/namespaces/${SYSTEM}/rolebindings`, { ...binding, roleRef: roleRef('Role') });
  }
}

function asked(base: string): Pick<OperatorProcess, 'readiness' | 'isLive' | 'metric'> {
  const get = (path: string) =>
    fetch(base + path, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
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

/** Looks again and again until it is true; how long it took, in milliseconds. Throws what did not come after `ms`. */
export async function until(
  what: string,
  look: () => Promise<boolean> | boolean,
  ms = 120_000,
): Promise<number> {
  const began = performance.now();
  while (!(await look())) {
    if (performance.now() - began > ms) throw new Error(`${what} did not come in ${ms} ms`);
    await sleep(50);
  }
  return performance.now() - began;
}
