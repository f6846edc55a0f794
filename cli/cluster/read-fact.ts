import { known, notKnown, type Fact } from '../../authoring/diagnosis/facts.ts';
import { KubeError } from '../../kube/client.ts';
import { Semaphore } from '../../kube/semaphore.ts';

/**
 * The result of `read`. An error status becomes a reason that names `permission`, such as "list pods in every
 * namespace". Throws if the API server does not respond at all.
 */
export async function readFact<T>(permission: string, read: () => Promise<T>): Promise<Fact<T>> {
  try {
    return known(await read());
  } catch (error) {
    if (!(error instanceof KubeError) || error.status === 0) throw error;
    if (error.status === 401 || error.status === 403) return notKnown(`missing permission: ${permission}`);
    return notKnown(`cannot ${permission}: ${error.message}`);
  }
}

/** Applies `then` to a known fact; an unknown fact stays unknown. */
export async function chainFact<T, R>(
  fact: Fact<T>,
  then: (value: T) => Promise<Fact<R>> | Fact<R>,
): Promise<Fact<R>> {
  return fact.known ? then(fact.value) : fact;
}

/** Converts the value of a known fact; an unknown fact stays unknown. */
export function mapFact<T, R>(fact: Fact<T>, then: (value: T) => R): Fact<R> {
  return fact.known ? known(then(fact.value)) : fact;
}

/** No objects if the API server does not know the kind. */
export function noneIfNotServed(error: unknown): { items: never[] } {
  if (error instanceof KubeError && error.status === 404) return { items: [] };
  throw error;
}

/** Concurrent requests; suits the connection pool. */
const CONCURRENCY = 16;

/** Maps items with limited concurrency; results keep the order of the items. */
export function eachOf<T, R>(items: readonly T[], each: (item: T) => Promise<R>): Promise<R[]> {
  const semaphore = new Semaphore(CONCURRENCY);
  return Promise.all(items.map((item) => semaphore.run(() => each(item))));
}
