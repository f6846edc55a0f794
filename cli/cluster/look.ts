import { known, notKnown, type Fact } from '../../core/diagnosis/fact.ts';
import { KubeError } from '../../kube/client.ts';

/**
 * What `ask` finds. A rejection becomes a reason that names `right`, such as "list pods in every namespace"; an API
 * server that gives no answer at all is no finding: that is thrown on.
 */
export async function look<T>(right: string, ask: () => Promise<T>): Promise<Fact<T>> {
  try {
    return known(await ask());
  } catch (error) {
    if (!(error instanceof KubeError) || error.status === 0) throw error;
    if (error.status === 401 || error.status === 403) return notKnown(`this needs the right to ${right}`);
    return notKnown(`cannot ${right}: ${error.message}`);
  }
}

/** `then` of what is known; what is not stays so. */
export async function lookOn<T, R>(
  fact: Fact<T>,
  then: (value: T) => Promise<Fact<R>> | Fact<R>,
): Promise<Fact<R>> {
  return fact.known ? then(fact.value) : fact;
}

/** As many at a time as a connection pool carries well. */
const AT_ONCE = 16;

/** `each` of many, some at a time, in their order. */
export async function eachOf<T, R>(items: readonly T[], each: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await each(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return results;
}
