// The cluster of the e2e suites: the cluster of E2E_KUBECONFIG, else a temporary cluster on this machine.
import { randomBytes } from 'node:crypto';
import { accessSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { apiAudit, type ApiAudit } from '../../testing/cluster/api-audit.ts';
import { CLUSTER_CACHE } from '../../testing/machine/cluster-binary.ts';
import { forwardByKubectl, forwardInside, type Forward } from './forward.ts';
import { requestedIn } from '../../testing/cluster/used-permissions.ts';
import { ApiReader, type Access, type ReadApi } from './api-reader.ts';
import { hold } from './hold.ts';
import { processesWith } from './processes.ts';
import { run, type RunOptions, type RunResult } from './run.ts';

export interface Cluster {
  /** For commands run with `exec`; the API server of a local cluster is not reachable from outside. */
  kubeconfig: string;
  /**
   * Runs a command inside the network of a local cluster, or on this machine (E2E_KUBECONFIG), with KUBECONFIG set and
   * kubectl and helm on the PATH. A non-zero exit code is returned, not thrown.
   */
  exec: (command: readonly string[], options?: Omit<RunOptions, 'env'>) => Promise<RunResult>;
  /** Reads from the API server as the kubeconfig's user. */
  readApi: ReadApi;
  /** Opens a loopback port for a Service's port until it is closed. Throws if the Service does not exist. */
  forward: (service: { namespace: string; name: string; port: number }) => Promise<Forward>;
  /** Image reference of a part (`sidecar`, `operator`, `webhook`, `control-plane`, `opa`, ...) for this cluster. */
  imageRef: (part: string) => string;
  /** Audit log of a local cluster's API server; null for an external cluster. */
  audit: ApiAudit | null;
  /** Removes a local cluster completely; does nothing to an external cluster. */
  close: () => Promise<void>;
}

/**
 * Audit policy of a local cluster: writes of observations and of the product's Events with content, and metadata of all other
 * requests of the product's ServiceAccounts. The canary's ServiceAccount is in a separate namespace.
 */
const AUDITED: NonNullable<Parameters<typeof apiAudit>[1]> = [
  {
    level: 'RequestResponse',
    verbs: ['create', 'update', 'patch'],
    resources: [{ group: 'platform.io', resources: ['agentobservations', 'agentobservations/status'] }],
  },
  {
    level: 'RequestResponse',
    verbs: ['create', 'update', 'patch'],
    userGroups: ['system:serviceaccounts:platform-system'],
    resources: [{ group: 'events.k8s.io', resources: ['events'] }],
  },
  {
    level: 'Metadata',
    userGroups: ['system:serviceaccounts:platform-system', 'system:serviceaccounts:platform-canary'],
  },
];

/** Set by share-cluster.ts: the cluster shared by all suites of a run, as JSON of `Running`. */
export const SHARED = 'E2E_SHARED_CLUSTER';

interface Running {
  name: string;
  /** Directory of the audit policy and log. */
  scratch: string;
}

/**
 * The cluster of E2E_KUBECONFIG or the shared cluster of this run; else a new cluster, in about ten seconds.
 * Throws with the end of its logs if the cluster fails to start.
 */
export async function startCluster(env: NodeJS.ProcessEnv = process.env): Promise<Cluster> {
  const [existing = '', shared = ''] = [env['E2E_KUBECONFIG'], env[SHARED]];
  if (existing !== '') return external(existing, env);
  if (shared !== '') return attached(JSON.parse(shared) as Running, env);
  const { cluster } = await startOwnCluster(env);
  return cluster;
}

/** Starts a new cluster; `running` is the value for `SHARED`. */
export async function startOwnCluster(
  env: NodeJS.ProcessEnv,
): Promise<{ cluster: Cluster; running: string }> {
  const name = `e2e-${process.pid}-${randomBytes(2).toString('hex')}`;
  const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-audit-'));
  const audit = apiAudit(scratch, AUDITED);
  const devices = networkDevices();
  const held = await hold('cluster', { NAME: name, APISERVER_EXTRA: audit.args.join(' ') });
  const { reader, ...access } = inside(name, env);
  const cluster: Cluster = {
    ...access,
    audit,
    close: async () => {
      await reader.close();
      // The check after the end is valid only if the same search finds the running cluster.
      if (leftBehind(name, devices).length < 3)
        throw new Error(`the search did not find the running cluster ${name}`);
      await held.close();
      const left = leftBehind(name, devices);
      if (left.length > 0) throw new Error(`the cluster ${name} left behind: ${left.join(', ')}`);
      recordPermissions(name, audit, env);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
  return { cluster, running: JSON.stringify({ name, scratch } satisfies Running) };
}

const networkDevices = () => globSync('/sys/class/net/*');

/** Processes, mounts, cgroups, files and new network devices of a local cluster. */
function leftBehind(name: string, devicesBefore: readonly string[]): string[] {
  const directory = directoryOf(name);
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return [
    ...processesWith(directory),
    ...mounts.filter((line) => line.includes(directory)),
    ...globSync(`/sys/fs/cgroup/**/k8s-${name}`),
    ...globSync(directory),
    ...networkDevices().filter((device) => !devicesBefore.includes(device)),
  ];
}

const directoryOf = (name: string) => join(CLUSTER_CACHE, `run-${name}`);

/** A cluster that another process closes; its audit log starts now. */
function attached({ name, scratch }: Running, env: NodeJS.ProcessEnv): Cluster {
  const audit = apiAudit(scratch, AUDITED);
  const before = audit.all().length;
  const { reader, ...access } = inside(name, env);
  return {
    ...access,
    audit: { ...audit, all: () => audit.all().slice(before) },
    close: () => reader.close(),
  };
}

/** Commands and addresses inside the network of a local cluster. */
function inside(
  name: string,
  env: NodeJS.ProcessEnv,
): Omit<Cluster, 'audit' | 'close'> & { reader: ApiReader } {
  const directory = directoryOf(name);
  const enter = join(directory, 'in');
  const exec: Cluster['exec'] = (command, execOptions) =>
    run([enter, ...command], { ...execOptions, env: withTools(env) });
  const kubeconfig = join(directory, 'kubeconfig');
  const access = administratorOf(directory);
  const reader = new ApiReader(access, ({ hostname, port }) =>
    forwardInside(enter, directory, { host: hostname, port: Number(port) }),
  );
  return {
    ...{ kubeconfig, exec, reader, readApi: reader.read },
    forward: async ({ namespace, name, port }) =>
      forwardInside(enter, directory, { host: await clusterIpOf(exec, namespace, name), port }),
    imageRef: (part) => `localhost/agent-compliance/${part}:dev`,
  };
}

/** The administrator of a local cluster, without the Kubernetes client, whose import takes half a second in each test file. */
function administratorOf(directory: string): Access {
  const read = (file: string) => readFileSync(join(directory, 'pki', file));
  const tls = { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
  return async () => ({
    server: 'https://127.0.0.1:6443',
    credentials: async () => ({ headers: {}, tls }),
  });
}

/** Records the product's API requests for scripts/check-permissions.ts; writes nothing if there were none. */
function recordPermissions(name: string, audit: ApiAudit, env: NodeJS.ProcessEnv): void {
  const directory = env['E2E_PERMISSIONS'] ?? '';
  const requested = directory === '' ? [] : requestedIn(audit.all());
  if (requested.length > 0) writeFileSync(join(directory, `${name}.json`), JSON.stringify(requested));
}

function external(kubeconfig: string, env: NodeJS.ProcessEnv): Cluster {
  try {
    accessSync(kubeconfig);
  } catch (cause) {
    throw new Error(`E2E_KUBECONFIG: cannot read ${kubeconfig}`, { cause });
  }
  const prefix = env['E2E_IMAGE_PREFIX'] ?? 'localhost/agent-compliance';
  const tag = env['E2E_IMAGE_TAG'] ?? 'dev';
  const tools = { ...withTools(env), KUBECONFIG: kubeconfig };
  const access = async () => (await import('../../kube/cluster-access.ts')).loadClusterAccess(kubeconfig);
  const reader = new ApiReader(access, null);
  return {
    kubeconfig,
    readApi: reader.read,
    exec: (command, execOptions) => run(command, { ...execOptions, env: tools }),
    forward: ({ namespace, name, port }) =>
      forwardByKubectl(['kubectl', '-n', namespace, 'port-forward', `svc/${name}`, `:${port}`], tools),
    imageRef: (part) => `${prefix}/${part}:${tag}`,
    audit: null,
    close: () => reader.close(),
  };
}

async function clusterIpOf(exec: Cluster['exec'], namespace: string, name: string): Promise<string> {
  const path = '-o=jsonpath={.spec.clusterIP}';
  const { stdout, stderr, code } = await exec(['kubectl', '-n', namespace, 'get', 'service', name, path]);
  if (code !== 0) throw new Error(`Service ${namespace}/${name}: ${stderr}`);
  return stdout;
}

/** Adds this process's Node.js and, if built, the cluster's `kubectl` and `helm` to the PATH. */
function withTools(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, PATH: [dirname(process.execPath), join(CLUSTER_CACHE, 'bin'), env['PATH']].join(':') };
}
