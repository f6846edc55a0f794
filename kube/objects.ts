import { setTimeout as sleep } from 'node:timers/promises';
import { KubeError, TOO_LARGE, type KubeResponse, type KubeClient, type KubeRequest } from './client.ts';
import { apiVersionOf, collectionPath, objectPath, type ObjectKey, type Resource } from './resources.ts';

/** Returns the object, or null when it does not exist. Throws a KubeError for any other error response. */
export async function getObject<T>(
  client: KubeClient,
  resource: Resource<T>,
  { only, ...key }: ObjectKey & Pick<KubeRequest, 'only'>,
  signal?: AbortSignal,
): Promise<T | null> {
  const response = await client.send<T>({ method: 'GET', path: objectPath(resource, key), only, signal });
  return response.ok ? response.body : nullWhenMissing(response);
}

/**
 * Lists all objects of a namespace or of the cluster. To follow changes, use an informer. The number of objects in a page adapts
 * to their size, so that memory for a page depends on no object but the largest.
 */
export async function listObjects<T>(
  client: KubeClient,
  resource: Resource<T>,
  selection: ListSelection & ListKeep<T> = {},
  signal?: AbortSignal,
): Promise<{ items: T[]; resourceVersion: string }> {
  const { namespace, pageSize = 500, only, keep, ...selectors } = selection;
  const path = collectionPath(resource, namespace);
  const items: T[] = [];
  let limit = Math.min(FIRST_PAGE, pageSize);
  for (let token: string | undefined; ;) {
    const query = { ...selectors, limit, continue: token };
    const maxBytes = limit > 1 ? PAGE_BYTES : undefined;
    const request = { method: 'GET' as const, path, query, only, signal, timeoutMs: 30_000 };
    const response = await fetchPage<T>(client, maxBytes === undefined ? request : { ...request, maxBytes });
    if (!response.ok) {
      limit = Math.ceil(limit / 4);
      continue;
    }
    const { body: page, bytes = 0 } = response;
    for (const item of page.items ?? []) {
      const kept = keep ? keep(item) : item;
      if (kept !== null) items.push(kept);
    }
    token = page.metadata.continue;
    if (!token) return { items, resourceVersion: page.metadata.resourceVersion };
    if (bytes < PAGE_BYTES / 4) limit = Math.min(limit * 2, pageSize);
  }
}

/** Objects in the first page. */
const FIRST_PAGE = 100;
/** Maximum size of a page with several objects. As objects of JavaScript, a page takes several times this memory. */
const PAGE_BYTES = 1024 * 1024;
/** Attempts for one page. A busy API server takes three seconds to reject each. */
const PAGE_TRIES = 4;

/** Retries an API server whose cache is behind its store: it rejects a list with 504 and Retry-After. Not ok: too large. */
async function fetchPage<T>(client: KubeClient, request: KubeRequest): Promise<KubeResponse<ListPage<T>>> {
  for (let tries = 1; ; tries += 1) {
    const response = await client.send<ListPage<T>>(request);
    if (response.ok || (response.reason === TOO_LARGE && request.maxBytes !== undefined)) return response;
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
