import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { KubeClient, KubeError } from '../../kube/client.ts';
import { loadClusterAccess, loadContextAccess, type ClusterAccess } from '../../kube/cluster-access.ts';
import type { CliContext } from '../context.ts';

export interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
  /** Namespace of the release. */
  namespace: string;
  release?: string;
}

/** The report, or why the cluster could not be queried; `isTransient`: a retry may succeed. */
export type ClusterResult<T> = { ok: true; report: T } | { ok: false; reason: string; isTransient: boolean };

/** Finds the cluster as kubectl does: --kubeconfig, KUBECONFIG, ~/.kube/config, the pod's service account. */
export async function withCluster<T>(
  options: ClusterOptions,
  context: Pick<CliContext, 'env' | 'cwd'>,
  act: (cluster: { server: string; client: KubeClient }) => Promise<T>,
): Promise<ClusterResult<T>> {
  let client: KubeClient | null = null;
  try {
    const access = accessFor(options, context);
    client = new KubeClient({ access, part: 'cli' });
    return { ok: true, report: await act({ server: access.server, client }) };
  } catch (error) {
    return {
      ok: false,
      reason: reasonOf(error),
      isTransient: error instanceof KubeError && error.status === 0,
    };
  } finally {
    await client?.close();
  }
}

/** Message with its causes: what failed first, the root cause last. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`;
}

function accessFor(
  { kubeconfig, context: name }: ClusterOptions,
  { env, cwd }: Pick<CliContext, 'env' | 'cwd'>,
): ClusterAccess {
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  const home = join(env['HOME'] ?? env['USERPROFILE'] ?? '', '.kube', 'config');
  const named = kubeconfig === undefined ? listed : [kubeconfig];
  if (named.length > 0)
    return loadContextAccess(
      named.map((file) => resolve(cwd, file)),
      name ?? null,
    );
  if (existsSync(home)) return loadContextAccess([home], name ?? null);
  if (env['KUBERNETES_SERVICE_HOST'] !== undefined && name === undefined) return loadClusterAccess(null);
  throw new Error('no cluster configured; pass --kubeconfig or set KUBECONFIG');
}
