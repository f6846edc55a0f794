import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { startControlPlane, type ControlPlane, type ControlPlaneOptions } from '../../e2e/cluster/control.ts';
import { run, type RunResult } from '../../e2e/cluster/run.ts';
import { KubeClient, type KubeRequest, type KubeResponse } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { expectOk } from '../../kube/objects.ts';
import { clusterBinary } from '../machine/cluster-binary.ts';
import { until } from '../time/until.ts';
import { tokenKubeconfig, type TokenAccess } from './token-kubeconfig.ts';

/** An object to create; lists of objects mix kinds. */
export interface AnyObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}
type PatchType = 'merge' | 'strategic-merge' | 'json';

/** The API path of an object; without a namespace, that of a cluster-wide object. */
export function pathOf({ apiVersion, kind, metadata }: AnyObject): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const inside = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');
  return `${group}${inside}/${plural}/${metadata.name}`;
}

/** The request that `kubectl patch` sends. */
export const patchOf = (path: string, body: unknown, type: PatchType = 'merge'): KubeRequest => ({
  ...{ method: 'PATCH', path, body },
  contentType: `application/${type}-patch+json`,
});

/** A dry run of a creation, with the strict validation of kubectl. */
export const creationOf = (object: AnyObject): KubeRequest => ({
  ...{ method: 'POST', path: dirname(pathOf(object)), body: object },
  query: { dryRun: 'All', fieldValidation: 'Strict' },
});

/** The message of a rejection; empty: accepted. */
export const rejectionIn = (response: KubeResponse<unknown>): string => (response.ok ? '' : response.message);

/** Resolves with what `look` finds first. */
export async function found<T>(what: string, look: () => Promise<T | false | null | undefined>): Promise<T> {
  let value: T | false | null | undefined;
  await until(async () => Boolean((value = await look())), what);
  return value as T;
}

/** A response with the texts that kubectl prints. */
export interface Answer<T> {
  /** Of a rejection; empty: accepted. */
  message: string;
  warnings: string[];
  body: T;
}

/** The text of a Warning header, such as `299 - "text"`. */
const warningIn = (header: string): string =>
  header.replace(/^299 \S+ "(.*)"$/s, '$1').replaceAll(/\\(.)/g, '$1');

/**
 * A real API server and an administrator's client. Each start of kubectl takes more processor time than a hundred requests, so only
 * what kubectl prints is asked with kubectl.
 */
export class ApiCluster {
  readonly control: ControlPlane;
  readonly client: KubeClient;
  readonly #users: KubeClient[] = [];
  #files = 0;

  constructor(control: ControlPlane) {
    this.control = control;
    this.client = new KubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
  }

  static async start(options?: ControlPlaneOptions): Promise<ApiCluster> {
    return new ApiCluster(await startControlPlane(options));
  }

  async close(): Promise<void> {
    await Promise.all([this.client, ...this.#users].map((each) => each.close()));
    await this.control.close();
  }

  async get<T>(path: string): Promise<T> {
    return expectOk(await this.client.send<T>({ method: 'GET', path }));
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return expectOk(await this.client.send<T>({ method: 'POST', path, body }));
  }

  async patch<T>(path: string, body: unknown, type?: PatchType): Promise<T> {
    return expectOk(await this.client.send<T>(patchOf(path, body, type)));
  }

  async remove(path: string, options: object = {}): Promise<void> {
    expectOk(await this.client.send({ method: 'DELETE', path, body: options }));
  }

  /** Server-side apply of the objects, in order. */
  async apply(objects: readonly unknown[]): Promise<void> {
    for (const body of objects as readonly AnyObject[]) {
      const query = { fieldManager: 'test', force: true };
      const contentType = 'application/apply-patch+yaml';
      expectOk(await this.client.send({ method: 'PATCH', path: pathOf(body), query, contentType, body }));
    }
  }

  /** Namespaces with the ServiceAccount `default`, without which pods are rejected, and which a controller creates elsewhere. */
  async namespaces(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const account = {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default', namespace: name },
      };
      await this.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, account]);
    }
  }

  /** Creates a namespace; resolves when a controller has created its ServiceAccount. */
  async controlledNamespace(name: string): Promise<string> {
    await this.post('/api/v1/namespaces', { metadata: { name } });
    const path = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await until(() => this.serves(path), 'the ServiceAccount');
    return name;
  }

  /** Creates definitions of crds/; resolves when the API server serves their objects. */
  async define(...plurals: readonly string[]): Promise<void> {
    for (const plural of plurals) {
      const file = join(import.meta.dirname, '../../crds', `${plural}.yaml`);
      await this.apply([parse(readFileSync(file, 'utf8'))]);
    }
    for (const plural of plurals)
      await until(() => this.serves(`/apis/platform.io/v1/${plural}`), `the definition of ${plural}`);
  }

  /** Whether a GET succeeds. */
  async serves(path: string): Promise<boolean> {
    return (await this.client.send({ method: 'GET', path })).ok;
  }

  /** A client that acts as another user. */
  as(user: string, ...groups: readonly string[]): KubeClient {
    const access = loadClusterAccess(this.control.kubeconfig);
    const impersonated = {
      'impersonate-user': user,
      ...(groups.length > 0 && { 'impersonate-group': groups }),
    };
    const credentials = async () => {
      const { headers, tls } = await access.credentials();
      // The client sends a header several times if its value is a list.
      return { headers: { ...headers, ...(impersonated as unknown as Record<string, string>) }, tls };
    };
    return this.#keep(new KubeClient({ access: { ...access, credentials }, part: 'test' }));
  }

  /** A client with the token of a ServiceAccount. */
  async clientOf(namespace: string, name: string): Promise<KubeClient> {
    const access = loadClusterAccess(await this.kubeconfigOf(namespace, name));
    return this.#keep(new KubeClient({ access, part: 'test' }));
  }

  /** Requests a token of a ServiceAccount. */
  async token(namespace: string, name: string, spec: object = {}): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    return (await this.post<{ status: { token: string } }>(path, { spec })).status.token;
  }

  /** Path of a kubeconfig with a token of a ServiceAccount. */
  async kubeconfigOf(
    namespace: string,
    name: string,
    access: Omit<TokenAccess, 'token'> = {},
  ): Promise<string> {
    const file = join(
      dirname(this.control.kubeconfig),
      `${namespace}-${name}-${(this.#files += 1)}.kubeconfig`,
    );
    const token = await this.token(namespace, name);
    await writeFile(file, tokenKubeconfig(this.control.kubeconfig, { token, ...access }), { mode: 0o600 });
    return file;
  }

  /** Creates a ServiceAccount in a namespace, bound to these rules of RBAC, in the cluster and in its namespace. */
  async account(
    namespace: string,
    name: string,
    rules: { cluster: readonly object[]; namespace: readonly object[] },
  ): Promise<void> {
    const rbac = 'rbac.authorization.k8s.io';
    const unique = `${namespace}-${name}`;
    const subjects = [{ kind: 'ServiceAccount', name, namespace }];
    const bound = (kind: string, role: object, metadata: { name: string }) => ({
      ...{ apiVersion: `${rbac}/v1`, kind: `${kind}Binding`, metadata: { ...role, ...metadata }, subjects },
      roleRef: { apiGroup: rbac, kind, name: metadata.name },
    });
    const role = (kind: string, metadata: object, own: readonly object[]) => ({
      ...{ apiVersion: `${rbac}/v1`, kind, metadata, rules: own },
    });
    await this.apply([
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
      role('ClusterRole', { name: unique }, rules.cluster),
      bound('ClusterRole', {}, { name: unique }),
      role('Role', { name, namespace }, rules.namespace),
      bound('Role', { namespace }, { name }),
    ]);
  }

  /** Sends a request without the product's client, which reads neither warnings nor tables. */
  async ask<T = unknown>(
    { method, path, query = {}, body, contentType = 'application/json' }: KubeRequest,
    accept = 'application/json',
  ): Promise<Answer<T>> {
    const access = loadClusterAccess(this.control.kubeconfig);
    const { headers, tls } = await access.credentials();
    const search = new URLSearchParams(query as Record<string, string>).toString();
    const dispatcher = new Agent({ connect: tls });
    try {
      const response = await request(`${access.server}${path}?${search}`, {
        ...{ method, dispatcher, headers: { ...headers, accept, 'content-type': contentType } },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const answer = (await response.body.json()) as T & { message?: string };
      const warnings = [response.headers['warning'] ?? []].flat().map(warningIn);
      return {
        message: response.statusCode < 300 ? '' : (answer.message ?? 'rejected'),
        warnings,
        body: answer,
      };
    } finally {
      await dispatcher.close();
    }
  }

  /** The output of kubectl and its exit code. */
  kubectl(args: readonly string[], input: unknown = ''): Promise<RunResult> {
    const command = [clusterBinary('kubectl'), '--kubeconfig', this.control.kubeconfig, ...args];
    return run(command, { input: typeof input === 'string' ? input : JSON.stringify(input) });
  }

  #keep(client: KubeClient): KubeClient {
    this.#users.push(client);
    return client;
  }
}
