import { setTimeout as delay } from 'node:timers/promises';
import type { KubeResponse } from '../../kube/client.ts';
import { expectOk } from '../../kube/objects.ts';
import { collectionPath, objectPath, type Resource } from '../../kube/resources.ts';
import type { ApiCluster } from './api-cluster.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The table that kubectl prints. */
interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

/** A CustomResourceDefinition of crds/ that a real API server serves. */
export class ServedCrd<T> {
  readonly cluster: ApiCluster;
  /** Paths of the definition, and of the collection in the namespace of the tests. */
  readonly definition: string;
  readonly collection: string;
  readonly #resource: Resource<T>;
  readonly #namespace: string | undefined;

  private constructor(cluster: ApiCluster, resource: Resource<T>, namespace?: string) {
    this.cluster = cluster;
    this.definition = `${DEFINITIONS}/${resource.plural}.${resource.group}`;
    this.collection = collectionPath(resource, namespace);
    [this.#resource, this.#namespace] = [resource, namespace];
  }

  /** @param namespace for a namespaced kind */
  static async open<T>(
    cluster: ApiCluster,
    resource: Resource<T>,
    namespace?: string,
  ): Promise<ServedCrd<T>> {
    const crd = new ServedCrd(cluster, resource, namespace);
    await cluster.define(resource.plural);
    // The API server serves the collection before the definition is established.
    while (!(await crd.conditions()).includes('Established=True')) await delay(50);
    return crd;
  }

  get client(): ApiCluster['client'] {
    return this.cluster.client;
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
    const { stdout, stderr, code } = await this.cluster.kubectl(args);
    if (code !== 0) throw new Error(stderr);
    return stdout.replaceAll(/\s+/g, ' ');
  }

  /** Requests the table format of kubectl, which this project's client does not support. */
  async table(name: string): Promise<Table> {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    return (await this.cluster.ask<Table>({ method: 'GET', path: this.path(name) }, accept)).body;
  }
}
