import { setTimeout as sleep } from 'node:timers/promises';
import { KubeError, type KubeResponse, type KubeClient, type KubeRequest } from './client.ts';
import { apiVersionOf, collectionPath, objectPath, type ObjectKey, type Resource } from './resources.ts';

/** Returns the object, or null when it does not exist. Throws a KubeError for any other error response. */
export async function getObject<T>(
  client: KubeClient,
  resource: Resource<T>,
  key: ObjectKey,
  signal?: AbortSignal,
): Promise<T | null> {
  const response = await client.send<T>({ method: 'GET', path: objectPath(resource, key), signal });
  return response.ok ? response.body : nullWhenMissing(response);
}

/** Lists all objects of a namespace or of the cluster, in pages of 500. To follow changes, use an informer. */
export async function listObjects<T>(
  client: KubeClient,
  resource: Resource<T>,
  selection: ListSelection & ListKeep<T> = {},
  signal?: AbortSignal,
): Promise<{ items: T[]; resourceVersion: string }> {
  const { namespace, pageSize = 500, only, keep, ...selectors } = selection;
  const path = collectionPath(resource, namespace);
  const items: T[] = [];
  for (let token: string | undefined; ;) {
    const query = { ...selectors, limit: pageSize, continue: token };
    const page = await fetchPage<T>(client, { method: 'GET', path, query, only, signal, timeoutMs: 30_000 });
    for (const item of page.items ?? []) {
      const kept = keep ? keep(item) : item;
      if (kept !== null) items.push(kept);
    }
    token = page.metadata.continue;
    if (!token) return { items, resourceVersion: page.metadata.resourceVersion };
  }
}

/** Attempts for one page. A busy API server takes three seconds to reject each. */
const PAGE_TRIES = 4;

/** Retries an API server whose cache is behind its store: it rejects a list with 504 and Retry-After. */
async function fetchPage<T>(client: KubeClient, request: KubeRequest): Promise<ListPage<T>> {
  for (let tries = 1; ; tries += 1) {
    const response = await client.send<ListPage<T>>(request);
    if (response.ok) return response.body;
    const isBehind = response.status === 504 && response.retryAfterMs !== null;
    if (!isBehind || tries === PAGE_TRIES) throw new KubeError(response);
    await sleep(response.retryAfterMs ?? 0, undefined, request.signal ? { signal: request.signal } : {});
  }
}

export interface ListSelection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  pageSize?: number;
  only?: 'metadata';
}

interface ListKeep<T> {
  /** Applied page by page, so that the complete objects are never all in memory; null: drop the object. */
  keep?: ((object: T) => T | null) | undefined;
}

interface ListPage<T> {
  metadata: { resourceVersion: string; continue?: string };
  /** null: only metadata was requested, and the list is empty. */
  items: T[] | null;
}

/** `exists`: an object of that name already exists. Throws a KubeError for any other error response. */
export async function createObject<T extends { metadata: ObjectKey }>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
): Promise<{ outcome: 'created'; object: T } | { outcome: 'exists' }> {
  const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
  const path = collectionPath(resource, object.metadata.namespace);
  const response = await client.send<T>({ method: 'POST', path, body });
  if (response.ok) return { outcome: 'created', object: response.body };
  if (response.reason === 'AlreadyExists') return { outcome: 'exists' };
  throw new KubeError(response);
}

/**
 * Deletes with background propagation. With `uid`, an object of the same name that was created later is not deleted.
 * Returns false when the object no longer exists.
 */
export async function deleteObject(
  client: KubeClient,
  resource: Resource<unknown>,
  key: ObjectKey,
  uid?: string,
): Promise<boolean> {
  const body = { propagationPolicy: 'Background', ...(uid === undefined ? {} : { preconditions: { uid } }) };
  const response = await client.send({ method: 'DELETE', path: objectPath(resource, key), body });
  if (response.ok) return true;
  if (response.status === 409) return false;
  nullWhenMissing(response);
  return false;
}

/** Applies a JSON merge patch. */
export function patchObject<T>(
  client: KubeClient,
  resource: Resource<T>,
  key: ObjectKey,
  body: object,
): Promise<KubeResponse<T>> {
  const contentType = 'application/merge-patch+json';
  return client.send<T>({ method: 'PATCH', path: objectPath(resource, key), contentType, body });
}

/** Returns the response's object; throws a KubeError for every error response. */
export function expectOk<T>(response: KubeResponse<T>): T {
  if (response.ok) return response.body;
  throw new KubeError(response);
}

function nullWhenMissing(response: Extract<KubeResponse<unknown>, { ok: false }>): null {
  if (response.status === 404) return null;
  throw new KubeError(response);
}
