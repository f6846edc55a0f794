import type { KubeResponse, KubeClient } from './client.ts';
import { apiVersionOf, objectPath, type ObjectKey, type Resource } from './resources.ts';

export interface ApplyOptions {
  /** Owns the applied fields. The API server deletes fields that this manager applied earlier and now omits. */
  fieldManager: string;
  /** Take ownership of fields from other managers; default false: the API server returns 409 on a conflict. */
  force?: boolean;
  subresource?: 'status';
}

/**
 * Server-side apply of the fields in `object`. Creates a missing object, except with a subresource (404).
 * All replicas that apply under one manager must apply the same set of fields.
 */
export function applyObject<T extends { metadata: ObjectKey }>(
  client: KubeClient,
  resource: Resource<T>,
  object: { metadata: ObjectKey } & Record<string, unknown>,
  options: ApplyOptions,
): Promise<KubeResponse<T>> {
  return client.send<T>({
    method: 'PATCH',
    path: objectPath(resource, object.metadata, options.subresource),
    query: { fieldManager: options.fieldManager, force: options.force ?? false },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object },
  });
}
