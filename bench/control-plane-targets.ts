import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane } from '../e2e/cluster/control.ts';
import { ChildServer } from '../testing/machine/child-server.ts';
import { debianServer } from '../testing/machine/debian-server.ts';
import { initPostgres } from '../testing/fleet/postgres-data.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import type { StoreName } from './control-plane-options.ts';
import { send, trusting, type Endpoint } from './heartbeats.ts';
import { accepts, cpuOfFamily, pin, PROCESSORS, startNode, type Started } from './processes.ts';
import { ADMIN_KEY, installDefinition } from './simulated-agents.ts';
import { freePort } from './targets.ts';

/** As in the chart: half of the memory limit of 384Mi. */
const NODE_OPTIONS = '--max-old-space-size=192 --max-semi-space-size=8';
const PASSWORD = 'password-of-the-benchmark';

/** What the control plane stores into. */
export interface Backend {
  /** Environment of the control plane. */
  env: Record<string, string>;
  /** A server next to the control plane, whose processor time is measured separately. */
  neighbour: { cpuMs(): number } | null;
  /** null: no cluster, so the agents have keys instead of pods. */
  kubeconfig: string | null;
  close(): Promise<void>;
}

export function openBackend(store: StoreName, directory: string): Promise<Backend> {
  if (store === 'postgres') return postgres(directory);
  if (store === 'kubernetes') return apiServer();
  return Promise.resolve({
    env: { STORE: store, DATA_DIR: join(directory, 'data') },
    ...{ neighbour: null, kubeconfig: null, close: () => Promise.resolve() },
  });
}

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
  const close = async (): Promise<void> => {
    child.kill('SIGINT');
    await server.ended;
  };
  const pid = await server.untilUp(() => accepts(port));
  if (pid === null) throw server.failure('postgres');
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  return {
    env: { STORE: 'postgres', DATABASE_URL: url },
    ...{ neighbour: { cpuMs: () => cpuOfFamily(pid) }, kubeconfig: null, close },
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
    // KUBERNETES_SERVICE_HOST marks that the process runs in a pod.
    env: { STORE: 'kubernetes', KUBECONFIG: kubeconfig, KUBERNETES_SERVICE_HOST: '127.0.0.1' },
    neighbour: { cpuMs: () => pids.reduce((sum, pid) => sum + cpuOfFamily(pid), 0) },
    ...{ kubeconfig, close },
  };
}

/** Starts the built control plane with a certificate for 127.0.0.1. Resolves when it is ready. */
export async function startReplica(
  { env }: Backend,
  directory: string,
): Promise<Started & { endpoint: Endpoint }> {
  const validity = { now: new Date(), days: 2 };
  const ca = await issueCa(validity);
  const leaf = await issueLeaf(ca, ['localhost', '127.0.0.1'], validity);
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  await writeFile(TLS_CERT_FILE, leaf.cert);
  await writeFile(TLS_KEY_FILE, leaf.key);
  const port = await freePort();
  const started = await startNode('dist/control-plane/main.js', port, {
    ...{ PORT: String(port), NODE_OPTIONS, TLS_CERT_FILE, TLS_KEY_FILE },
    ...{ PLATFORM_ADMIN_KEY: ADMIN_KEY, JWT_SECRET: `secret-${ADMIN_KEY}-secret`, ...env },
  });
  pin(started.pid, 'target');
  const endpoint = { port, tls: trusting(ca.cert) };
  while ((await send(endpoint, '/readyz')).status !== 200) await sleep(100);
  return { ...started, endpoint };
}
