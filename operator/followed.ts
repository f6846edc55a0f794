import type { Informer } from '../kube/informer.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** What of the cluster this process follows, by the name under which /readyz and the metric know it. */
export type Followed = Readonly<Record<string, Pick<Informer<unknown>, 'isFresh' | 'isForbidden'>>>;

/** Without the right to these the process does the rest of its work; the metric and the log name them. */
const DISPENSABLE: readonly string[] = ['rejections'];

/** Adds the metric; `unready`: what is not as new as the API server's, as /readyz says it, or null. */
export function createFollowed(followed: Followed, metrics: Metrics): { unready(): string | null } {
  const named = Object.entries(followed);
  metrics.gauge(
    'platform_operator_followed',
    '1 while what this process holds of the cluster is as new as what the API server has.',
    () => named.map(([name, each]) => ({ labels: { informer: name }, value: each.isFresh() ? 1 : 0 })),
  );
  const isAway = ([name, each]: (typeof named)[number]) =>
    !each.isFresh() && !(DISPENSABLE.includes(name) && each.isForbidden());
  return {
    unready() {
      const names = named.filter(isAway).map(([name]) => name);
      return names.length === 0 ? null : `the API server is not heard: ${names.join(', ')}`;
    },
  };
}
