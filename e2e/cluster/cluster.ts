// The cluster under the e2e suites: the one that E2E_KUBECONFIG names, else one of our own, thrown away afterwards.
import { randomBytes } from 'node:crypto';
import { accessSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { apiAudit, type ApiAudit } from '../../testing/api-audit.ts';
import { CLUSTER_CACHE } from '../../testing/cluster-binary.ts';
import { forwardByKubectl, forwardInside, type Forward } from './forward.ts';
import { askedIn } from '../../testing/used-permissions.ts';
import { ApiReader, type ReadApi } from './api-reader.ts';
import { hold } from './hold.ts';
import { processesWith } from './processes.ts';
import { run, type RunOptions, type RunResult } from './run.ts';

export interface Cluster {
  /** For commands run with `exec`; from outside, the API server of an own cluster cannot be reached. */
  kubeconfig: string;
  /**
   * Runs a command where the cluster's pods and Services can be reached by address (own cluster), or on this machine
   * (E2E_KUBECONFIG), with KUBECONFIG set and kubectl and helm on the PATH. Returns the exit code, whatever it is.
   */
  exec: (command: readonly string[], options?: Omit<RunOptions, 'env'>) => Promise<RunResult>;
  /** Reads from the API server as the kubeconfig's user. */
  readApi: ReadApi;
  /** A loopback port in front of a Service's port, for as long as it is not closed. Throws when there is no such Service. */
  forward: (service: { namespace: string; name: string; port: number }) => Promise<Forward>;
  /** The image of one part (`sidecar`, `operator`, `webhook`, `control-plane`, `opa`, ...) that the cluster can run. */
  imageRef: (part: string) => string;
  /** What was asked of an own cluster's API server; null in another one, whose log is not ours to read. */
  audit: ApiAudit | null;
  /** Ends an own cluster without a trace; does nothing to another one. */
  close: () => Promise<void>;
}

/**
 * What the audit log of an own cluster keeps: every stored observation and Event of the product with its content, and of the
 * other requests of the product's ServiceAccounts who sent what. The account of the canary is in a namespace of its own.
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

/** Set by share-cluster.ts: the running cluster that all suites of one run share, as JSON of `Running`. */
export const SHARED = 'E2E_SHARED_CLUSTER';

interface Running {
  name: string;
  /** Of the audit policy and log. */
  scratch: string;
}

/**
 * The cluster of E2E_KUBECONFIG, or the one that all suites of this run share; else a new one, in about ten seconds.
 * Throws with the end of its logs when it does not come up.
 */
export async function startCluster(env: NodeJS.ProcessEnv = process.env): Promise<Cluster> {
  const [existing = '', shared = ''] = [env['E2E_KUBECONFIG'], env[SHARED]];
  if (existing !== '') return external(existing, env);
  if (shared !== '') return attached(JSON.parse(shared) as Running, env);
  const { cluster } = await startOwnCluster(env);
  return cluster;
}

/** Starts a new cluster; `running` is what `SHARED` takes. */
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
      // An empty list after the end means something only if the same search found the running cluster.
      if (leftBehind(name, devices).length < 3) throw new Error(`the running cluster ${name} is not found`);
      await held.close();
      const left = leftBehind(name, devices);
      if (left.length > 0) throw new Error(`the cluster ${name} left behind: ${left.join(', ')}`);
      keepAsked(name, audit, env);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
  return { cluster, running: JSON.stringify({ name, scratch } satisfies Running) };
}

const networkDevices = () => globSync('/sys/class/net/*');

/** The processes, mounts, cgroups, files and new network devices of an own cluster. */
function leftBehind(name: string, devicesBefore: readonly string[]): string[] {
  const folder = folderOf(name);
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return [
    ...processesWith(folder),
    ...mounts.filter((line) => line.includes(folder)),
    ...globSync(`/sys/fs/cgroup/**/k8s-${name}`),
    ...globSync(folder),
    ...networkDevices().filter((device) => !devicesBefore.includes(device)),
  ];
}

const folderOf = (name: string) => join(CLUSTER_CACHE, `run-${name}`);

/** A cluster that another owner closes; its audit log begins now. */
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

/** Commands and addresses inside the network of an own cluster. */
function inside(
  name: string,
  env: NodeJS.ProcessEnv,
): Omit<Cluster, 'audit' | 'close'> & { reader: ApiReader } {
  const folder = folderOf(name);
  const enter = join(folder, 'in');
  const exec: Cluster['exec'] = (command, execOptions) =>
    run([enter, ...command], { ...execOptions, env: withTools(env) });
  const kubeconfig = join(folder, 'kubeconfig');
  const reader = new ApiReader(kubeconfig, ({ hostname, port }) =>
    forwardInside(enter, folder, { host: hostname, port: Number(port) }),
  );
  return {
    ...{ kubeconfig, exec, reader, readApi: reader.read },
    forward: async ({ namespace, name, port }) =>
      forwardInside(enter, folder, { host: await clusterIpOf(exec, namespace, name), port }),
    imageRef: (part) => `localhost/agent-compliance/${part}:dev`,
  };
}

/** What the product asked of the API server, for scripts/check-permissions.ts; of a cluster without the product nothing. */
function keepAsked(name: string, audit: ApiAudit, env: NodeJS.ProcessEnv): void {
  const folder = env['E2E_PERMISSIONS'] ?? '';
  const asked = folder === '' ? [] : askedIn(audit.all());
  if (asked.length > 0) writeFileSync(join(folder, `${name}.json`), JSON.stringify(asked));
}

function external(kubeconfig: string, env: NodeJS.ProcessEnv): Cluster {
  try {
    accessSync(kubeconfig);
  } catch (cause) {
    throw new Error(`E2E_KUBECONFIG: ${kubeconfig} cannot be read`, { cause });
  }
  const prefix = env['E2E_IMAGE_PREFIX'] ?? 'localhost/agent-compliance';
  const tag = env['E2E_IMAGE_TAG'] ?? 'dev';
  const tools = { ...withTools(env), KUBECONFIG: kubeconfig };
  const reader = new ApiReader(kubeconfig, null);
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

/** `node` is the one that runs this, `kubectl` and `helm` are the cluster's own where they are built. */
function withTools(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, PATH: [dirname(process.execPath), join(CLUSTER_CACHE, 'bin'), env['PATH']].join(':') };
}
