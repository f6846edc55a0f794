import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

export interface TokenAccess {
  token: string;
  /** Default namespace. */
  namespace?: string;
  /** Other server address: a proxy with the API server's certificate. */
  server?: string;
}

/** A kubeconfig for the same API server as the administrator's kubeconfig at `path`, with a token instead of a certificate. */
export function tokenKubeconfig(path: string, { token, namespace, server }: TokenAccess): string {
  const admin = parse(readFileSync(path, 'utf8')) as { clusters: { cluster: object }[] };
  const cluster = { ...admin.clusters[0]?.cluster, ...(server !== undefined && { server }) };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token } }],
    contexts: [
      { name: 'x', context: { cluster: 'c', user: 'u', ...(namespace !== undefined && { namespace }) } },
    ],
    'current-context': 'x',
  });
}
