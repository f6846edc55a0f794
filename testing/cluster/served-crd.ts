import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { startControlPlane, type ControlPlane } from '../../e2e/cluster/control.ts';
import { run } from '../../e2e/cluster/run.ts';
import { KubeClient, type KubeResponse } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { expectOk } from '../../kube/objects.ts';
import { collectionPath, objectPath, type Resource } from '../../kube/resources.ts';
import { clusterBinary } from '../machine/cluster-binary.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The table that kubectl prints. */
interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

/** A real API server that serves one CustomResourceDefinition of crds/. */
export class ServedCrd<T> {
  readonly client: KubeClient;
  /** Paths of the definition, and of the collection in the namespace of the tests. */
  readonly definition: string;
  readonly collection: string;
  readonly #control: ControlPlane;
  readonly #resource: Resource<T>;
  readonly #namespace: string | undefined;

  private constructor(control: ControlPlane, resource: Resource<T>, namespace?: string) {
    this.client = new KubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
    this.definition = `${DEFINITIONS}/${resource.plural}.${resource.group}`;
    this.collection = collectionPath(resource, namespace);
    [this.#control, this.#resource, this.#namespace] = [control, resource, namespace];
  }

  /** @param namespace for a namespaced kind */
  static async open<T>(resource: Resource<T>, namespace?: string): Promise<ServedCrd<T>> {
    const crd = new ServedCrd(await startControlPlane(), resource, namespace);
    const file = join(import.meta.dirname, '../../crds', `${resource.plural}.yaml`);
    const body: unknown = parse(readFileSync(file, 'utf8'));
    expectOk(await crd.client.send({ method: 'POST', path: DEFINITIONS, body }));
    // The API server serves the collection before the definition is established.
    while (!(await crd.conditions()).includes('Established=True')) await delay(50);
    while (!(await crd.client.send({ method: 'GET', path: crd.collection })).ok) await delay(50);
    return crd;
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.#control.close();
  }

  /** Conditions of the definition, such as `Established=True`. */
  async conditions(): Promise<string[]> {
    interface Crd {
      status?: { conditions?: { type: string; status: string }[] };
    }
    const { status } = expectOk(await this.client.send<Crd>({ method: 'GET', path: this.definition }));
    return status?.conditions?.map((each) => `${each.type}=${each.status}`) ?? [];
  }

  path(name: string, subresource?: string): string {
    const namespace = this.#namespace;
    return objectPath(this.#resource, { name, ...(namespace !== undefined && { namespace }) }, subresource);
  }

  create(body: unknown): Promise<KubeResponse<T>> {
    return this.client.send({ method: 'POST', path: this.collection, body });
  }

  patchStatus(name: string, status: object): Promise<KubeResponse<T>> {
    return this.client.send({
      method: 'PATCH',
      path: this.path(name, 'status'),
      contentType: 'application/merge-patch+json',
      body: { status },
    });
  }

  /** The output of kubectl, with each run of white space as one space. */
  async kubectl(...args: string[]): Promise<string> {
    const command = [clusterBinary('kubectl'), '--kubeconfig', this.#control.kubeconfig, ...args];
    const { stdout, stderr, code } = await run(command);
    if (code !== 0) throw new Error(stderr);
    return stdout.replaceAll(/\s+/g, ' ');
  }

  /** Requests the table format of kubectl, which this project's client does not support. */
  async table(name: string): Promise<Table> {
    const access = loadClusterAccess(this.#control.kubeconfig);
    const { headers, tls } = await access.credentials();
    const dispatcher = new Agent({ connect: tls });
    const response = await request(`${access.server}${this.path(name)}`, {
      dispatcher,
      headers: { ...headers, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    const table = (await response.body.json()) as Table;
    await dispatcher.close();
    return table;
  }
}
