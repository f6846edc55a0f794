import type { KubeAnswer, KubeClient } from './client.ts';
import { apiVersionOf, objectPath, type ObjectKey, type Resource } from './resources.ts';

export interface ApplyOptions {
  /** Owns the fields that it applies, and loses those that it applied before and now leaves out: the API server deletes them. */
  fieldManager: string;
  /** Take fields from other managers; default false: a conflict is answered 409. */
  force?: boolean;
  subresource?: 'status';
}

/**
 * Server-side apply of the fields in `object`. Creates what is missing, except with a subresource (404).
 * Every replica of a process that applies under one manager must apply the same set of fields.
 */
export function applyObject<T extends { metadata: ObjectKey }>(
  client: KubeClient,
  resource: Resource<T>,
  object: { metadata: ObjectKey } & Record<string, unknown>,
  options: ApplyOptions,
): Promise<KubeAnswer<T>> {
  return client.send<T>({
    method: 'PATCH',
    path: objectPath(resource, object.metadata, options.subresource),
    query: { fieldManager: options.fieldManager, force: options.force ?? false },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object },
  });
}
