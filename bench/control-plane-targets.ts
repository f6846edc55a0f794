import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane } from '../e2e/cluster/control.ts';
import { ChildServer } from '../testing/child-server.ts';
import { debianServer } from '../testing/debian-server.ts';
import { initPostgres } from '../testing/postgres-data.ts';
import { TestServers } from '../testing/sockets.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';
import { send, trusting, type Endpoint } from './heartbeats.ts';
import { accepts, cpuOfFamily, pin, PROCESSORS, startNode, type Started } from './processes.ts';
import { ADMIN_KEY, installDefinition } from './simulated-agents.ts';

/** As in the chart: half of the memory limit of 384Mi. */
const NODE_OPTIONS = '--max-old-space-size=192 --max-semi-space-size=8';
const PASSWORD = 'password-of-the-benchmark';

const freePort = (): Promise<number> => new TestServers().closedPort();

/** A server next to the control plane, whose processor time is measured separately. */
export interface Neighbour {
  name: 'PostgreSQL' | 'API server and etcd';
  cpuMs(): number;
}

/** What the control plane and the bare route store into. */
export interface Backend {
  /** Environment of the control plane. */
  env: Record<string, string>;
  /** Environment of the bare route; null: it cannot write the same row there. */
  bareEnv: Record<string, string> | null;
  neighbours: Neighbour[];
  /** null: no cluster, so the agents have keys instead of pods. */
  kubeconfig: string | null;
  close(): Promise<void>;
}

export async function openBackend(
  { store, cluster }: ControlPlaneOptions,
  directory: string,
): Promise<Backend> {
  const opened: Backend[] = [];
  const close = async (): Promise<void> => {
    for (const each of opened.reverse()) await each.close();
  };
  try {
    if (store === 'sqlite') opened.push(sqlite(directory));
    if (store === 'postgres') opened.push(await postgres(directory));
    if (store === 'kubernetes' || cluster) opened.push(await apiServer());
  } catch (error) {
    await close();
    throw error;
  }
  return {
    env: Object.assign({ STORE: store }, ...opened.map(({ env }) => env)) as Record<string, string>,
    bareEnv: opened[0]?.bareEnv ?? null,
    neighbours: opened.flatMap(({ neighbours }) => neighbours),
    kubeconfig: opened.at(-1)?.kubeconfig ?? null,
    close,
  };
}

const sqlite = (directory: string): Backend => ({
  env: { DATA_DIR: join(directory, 'data') },
  bareEnv: { DATABASE_FILE: join(directory, 'bare.sqlite') },
  ...{ neighbours: [], kubeconfig: null, close: () => Promise.resolve() },
});

/** PostgreSQL as Debian configures it, with fsync. */
async function postgres(directory: string): Promise<Backend> {
  const data = initPostgres(directory, PASSWORD);
  const port = await freePort();
  const { command, leading, env } = debianServer('postgres');
  const connections = ['-h', '127.0.0.1', '-p', String(port), '-c', 'max_connections=200'];
  const flags = ['-D', data, '-k', directory, ...connections];
  // From its start, so that every process of the server is pinned.
  const pinned = PROCESSORS === null ? [] : ['taskset', '-c', PROCESSORS.others];
  const [file = '', ...args] = [...pinned, command, ...leading, ...flags];
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const server = new ChildServer(child);
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const close = async (): Promise<void> => {
    child.kill('SIGINT');
    await server.ended;
  };
  const pid = await server.untilUp(() => accepts(port));
  if (pid === null) throw server.failure('postgres');
  return {
    ...{ env: { DATABASE_URL: url }, bareEnv: { DATABASE_URL: url }, kubeconfig: null, close },
    neighbours: [{ name: 'PostgreSQL', cpuMs: () => cpuOfFamily(pid) }],
  };
}

async function apiServer(): Promise<Backend> {
  const { kubeconfig, close } = await startControlPlane();
  const directory = dirname(dirname(kubeconfig));
  const pids = ['kube-apiserver', 'etcd'].map((name) =>
    Number(readFileSync(join(directory, `${name}.pid`), 'utf8')),
  );
  for (const pid of pids) pin(pid, 'others');
  await installDefinition(kubeconfig);
  return {
    // The variable marks that the process runs in a pod.
    env: { KUBECONFIG: kubeconfig, KUBERNETES_SERVICE_HOST: '127.0.0.1' },
    ...{ bareEnv: null, kubeconfig, close },
    neighbours: [
      {
        name: 'API server and etcd',
        cpuMs: () => pids.reduce((sum, pid) => sum + cpuOfFamily(pid), 0),
      },
    ],
  };
}

/** A measured process and how to reach it. */
export type Target = Started & { endpoint: Endpoint };

/** Certificate files for 127.0.0.1, and their CA; null: no TLS. */
export interface Certificates {
  env: Record<string, string>;
  ca: string;
}

export async function makeCertificates(directory: string): Promise<Certificates> {
  const validity = { now: new Date(), days: 2 };
  const ca = await issueCa(validity);
  const leaf = await issueLeaf(ca, ['localhost', '127.0.0.1'], validity);
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  await writeFile(TLS_CERT_FILE, leaf.cert);
  await writeFile(TLS_KEY_FILE, leaf.key);
  return { env: { TLS_CERT_FILE, TLS_KEY_FILE }, ca: ca.cert };
}

async function startTarget(
  file: string,
  env: Record<string, string>,
  certificates: Certificates | null,
): Promise<Target> {
  const port = await freePort();
  const started = await startNode(file, port, {
    ...{ PORT: String(port), NODE_OPTIONS, ...certificates?.env },
    ...env,
  });
  pin(started.pid, 'target');
  return { ...started, endpoint: { port, tls: certificates && trusting(certificates.ca) } };
}

/** One replica of the built control plane. Resolves when it is ready. */
export async function startReplica({ env }: Backend, certificates: Certificates | null): Promise<Target> {
  const own = { PLATFORM_ADMIN_KEY: ADMIN_KEY, JWT_SECRET: `secret-${ADMIN_KEY}-secret` };
  const target = await startTarget('dist/control-plane/main.js', { ...own, ...env }, certificates);
  while ((await send(target.endpoint, '/readyz')).status !== 200) await sleep(100);
  return target;
}

/** The bare Express route. */
export function startBareRoute(
  env: Record<string, string>,
  certificates: Certificates | null,
): Promise<Target> {
  const file = join(import.meta.dirname, 'servers/bare-heartbeat.ts');
  return startTarget(file, env, certificates);
}
