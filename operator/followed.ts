import type { Informer } from '../kube/informer.ts';
import type { KubeObject } from '../kube/types.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** The informers of this process, by their name in /readyz and in the metric. */
export type Followed = Readonly<
  Record<string, Pick<Informer<KubeObject>, 'isFresh' | 'isForbidden' | 'fullNamespaces'>>
>;

/** Without permission for these the process does the rest of its work; the metric and the log name them. */
const OPTIONAL: readonly string[] = ['rejections', 'mounts'];

/** Adds the metrics. `unready` returns the message for /readyz that names the stale caches, or null. */
export function createFollowed(followed: Followed, metrics: Metrics): { unready(): string | null } {
  const named = Object.entries(followed);
  metrics.gauge(
    'platform_operator_followed',
    '1 while the cache of this informer is up to date with the API server.',
    () => named.map(([name, each]) => ({ labels: { informer: name }, value: each.isFresh() ? 1 : 0 })),
  );
  metrics.gauge(
    'platform_operator_incomplete_namespaces',
    'Namespaces with more objects than this informer has memory for; their AgentObservations are not updated.',
    () => named.map(([name, each]) => ({ labels: { informer: name }, value: each.fullNamespaces.size })),
  );
  const isStale = ([name, each]: (typeof named)[number]) =>
    !each.isFresh() && !(OPTIONAL.includes(name) && each.isForbidden());
  return {
    unready() {
      const names = named.filter(isStale).map(([name]) => name);
      return names.length === 0 ? null : `caches not up to date: ${names.join(', ')}`;
    },
  };
}
