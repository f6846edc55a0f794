import { setTimeout as sleep } from 'node:timers/promises';
import { KubeError, type KubeAnswer, type KubeClient, type KubeRequest } from './client.ts';
import { apiVersionOf, collectionPath, objectPath, type ObjectKey, type Resource } from './resources.ts';

/** The object, or null when there is none. Throws a KubeError for any other refusal. */
export async function getObject<T>(
  client: KubeClient,
  resource: Resource<T>,
  key: ObjectKey,
  signal?: AbortSignal,
): Promise<T | null> {
  const answer = await client.send<T>({ method: 'GET', path: objectPath(resource, key), signal });
  return answer.ok ? answer.body : nullWhenMissing(answer);
}

/** All objects of a namespace, or of the cluster, in pages of 500; an informer is the way to keep up with them. */
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
    const page = await askForPage<T>(client, { method: 'GET', path, query, only, signal, timeoutMs: 30_000 });
    for (const item of page.items ?? []) {
      const kept = keep ? keep(item) : item;
      if (kept !== null) items.push(kept);
    }
    token = page.metadata.continue;
    if (!token) return { items, resourceVersion: page.metadata.resourceVersion };
  }
}

/** A busy API server is this many times asked for a page in all; each time it takes three seconds to refuse it. */
const PAGE_TRIES = 4;

/** An API server whose cache is still behind its store refuses a list with 504, and says when to ask again. */
async function askForPage<T>(client: KubeClient, request: KubeRequest): Promise<ListPage<T>> {
  for (let tries = 1; ; tries += 1) {
    const answer = await client.send<ListPage<T>>(request);
    if (answer.ok) return answer.body;
    const isBehind = answer.status === 504 && answer.retryAfterMs !== null;
    if (!isBehind || tries === PAGE_TRIES) throw new KubeError(answer);
    await sleep(answer.retryAfterMs ?? 0, undefined, request.signal ? { signal: request.signal } : {});
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
  /** Page by page, so that never all objects are in memory as they came; null: this one is not needed. */
  keep?: ((object: T) => T | null) | undefined;
}

interface ListPage<T> {
  metadata: { resourceVersion: string; continue?: string };
  /** null: metadata alone was asked for, and there is nothing. */
  items: T[] | null;
}

/** `exists`: an object of that name is there already. Throws a KubeError for any other refusal. */
export async function createObject<T extends { metadata: ObjectKey }>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
): Promise<{ outcome: 'created'; object: T } | { outcome: 'exists' }> {
  const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
  const path = collectionPath(resource, object.metadata.namespace);
  const answer = await client.send<T>({ method: 'POST', path, body });
  if (answer.ok) return { outcome: 'created', object: answer.body };
  if (answer.reason === 'AlreadyExists') return { outcome: 'exists' };
  throw new KubeError(answer);
}

/**
 * Deletes in the background. With `uid` only the very object that was looked at, never its namesake made since.
 * `false`: it was gone already.
 */
export async function deleteObject(
  client: KubeClient,
  resource: Resource<unknown>,
  key: ObjectKey,
  uid?: string,
): Promise<boolean> {
  const body = { propagationPolicy: 'Background', ...(uid === undefined ? {} : { preconditions: { uid } }) };
  const answer = await client.send({ method: 'DELETE', path: objectPath(resource, key), body });
  if (answer.ok) return true;
  if (answer.status === 409) return false;
  nullWhenMissing(answer);
  return false;
}

/** The answer's object; throws a KubeError for every refusal. */
export function expectOk<T>(answer: KubeAnswer<T>): T {
  if (answer.ok) return answer.body;
  throw new KubeError(answer);
}

function nullWhenMissing(answer: Extract<KubeAnswer<unknown>, { ok: false }>): null {
  if (answer.status === 404) return null;
  throw new KubeError(answer);
}
