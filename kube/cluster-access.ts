import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';

/** How to reach an API server. `credentials` is called repeatedly, because tokens and certificates rotate. */
export interface ClusterAccess {
  server: string;
  /** The namespace of the pod or of the kubeconfig's context. */
  namespace: string | null;
  credentials(): Promise<Credentials>;
}

export interface Credentials {
  headers: Record<string, string>;
  tls: TlsOptions;
}

/** A subset of Node's TLS options. */
export interface TlsOptions {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/**
 * Access through a kubeconfig file, or through the pod's own ServiceAccount when `path` is null.
 * Throws when the file cannot be read or has no cluster, or when this process does not run in a pod.
 */
export function loadClusterAccess(path: string | null): ClusterAccess {
  const config = new KubeConfig();
  if (path === null) config.loadFromCluster();
  else loadFile(config, path);
  return accessBy(
    config,
    path === null
      ? 'this process does not run in a pod with a ServiceAccount; set KUBECONFIG to a kubeconfig file'
      : `kubeconfig file ${path}: the current context has no cluster`,
  );
}

/**
 * Access like kubectl: the merged KUBECONFIG files and one of their contexts; null: the current context.
 * Throws when a file cannot be read, the context does not exist or the context has no cluster.
 */
export function loadContextAccess(files: readonly string[], context: string | null): ClusterAccess {
  const config = new KubeConfig();
  const [first = '', ...others] = files;
  loadFile(config, first);
  for (const file of others) {
    const other = new KubeConfig();
    loadFile(other, file);
    config.mergeConfig(other);
  }
  const name = context ?? config.getCurrentContext();
  if (config.getContextObject(name) === null) {
    const names = config.getContexts().map((each) => each.name);
    throw new Error(`${files.join(', ')}: no context "${name}" (available: ${names.join(', ') || 'none'})`);
  }
  config.setCurrentContext(name);
  return accessBy(config, `${files.join(', ')}: context "${name}" has no cluster`);
}

function accessBy(config: KubeConfig, noCluster: string): ClusterAccess {
  const cluster = config.getCurrentCluster();
  if (!cluster?.server || cluster.server.includes('undefined')) throw new Error(noCluster);
  if (cluster.proxyUrl) throw new Error('proxy-url in a kubeconfig is not supported');
  return {
    server: cluster.server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? null,
    credentials: () => readCredentials(config),
  };
}

/** Errors of the file system in words. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
};

function loadFile(config: KubeConfig, path: string): void {
  try {
    config.loadFromFile(path);
  } catch (cause) {
    const reason = REASONS[(cause as NodeJS.ErrnoException).code ?? ''];
    const failed = `kubeconfig file ${path} cannot be read`;
    throw reason === undefined ? new Error(failed, { cause }) : new Error(`${failed}: ${reason}`);
  }
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers = Object.entries((options.headers ?? {}) as Record<string, unknown>);
  const tls: Record<string, unknown> = {};
  for (const name of ['ca', 'cert', 'key', 'servername', 'rejectUnauthorized'] as const)
    if (options[name] !== undefined) tls[name] = options[name];
  return {
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value).trim()])),
    tls,
  };
}
