import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ControlPlane } from '../../e2e/cluster/control.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { KubeError, type KubeClient } from '../../kube/client.ts';
import { expectOk, listObjects } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS } from '../../kube/resources.ts';
import { OPERATOR_PERMISSIONS } from './operator-permissions.ts';
import { apiAudit, type ApiAudit } from './api-audit.ts';
import { ApiCluster } from './api-cluster.ts';
import { ProcessRig, type RunningPart } from '../machine/process-rig.ts';

const SYSTEM = 'platform-system';
/** Timeout for requests to an operator; long enough for a busy machine. */
const RESPONSE_MS = 20_000;
/** Each attempt waits for 15 seconds. */
const POST_TRIES = 8;

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
  readonly audit: ApiAudit;
  readonly processes: ProcessRig;
  readonly control: ControlPlane;
  /** As an administrator. */
  readonly client: KubeClient;
  readonly #cluster: ApiCluster;

  private constructor(cluster: ApiCluster, processes: ProcessRig, audit: ApiAudit) {
    [this.#cluster, this.processes, this.audit] = [cluster, processes, audit];
    [this.control, this.client] = [cluster.control, cluster.client];
  }

  /** `namespaces`: for agents. */
  static async open(namespaces: readonly string[]): Promise<OperatorRig> {
    const processes = await ProcessRig.open();
    const audit = apiAudit(processes.folder);
    const cluster = await ApiCluster.start({ apiServerArgs: audit.args });
    const rig = new OperatorRig(cluster, processes, audit);
    try {
      await cluster.define('agentobservations', 'agentpolicies', 'agentstops');
      await cluster.namespaces(SYSTEM, ...namespaces);
      const lease = { metadata: { name: 'platform-operator' } };
      await rig.post(`/apis/coordination.k8s.io/v1/namespaces/${SYSTEM}/leases`, lease);
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
    await this.#cluster.close();
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
  kubeconfigOf(name: string, url: string): Promise<string> {
    return this.#cluster.kubeconfigOf(SYSTEM, name, { namespace: SYSTEM, server: url });
  }

  /** Creates a ServiceAccount with exactly the operator's permissions. */
  addAccount(name: string): Promise<void> {
    return this.#cluster.account(SYSTEM, name, OPERATOR_PERMISSIONS);
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
