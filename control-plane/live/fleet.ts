import { withObserved, type AgentExcerpt } from '../../core/fleet/excerpt.ts';
import type { ControlPlaneContext } from '../context.ts';
import type { Store } from '../stores/store.ts';
import { FleetFeed } from './fleet-feed.ts';
import { FleetSnapshot } from './fleet-snapshot.ts';
import { FleetStreams } from './fleet-streams.ts';

/** The fleet as it is now, for the routes that show all agents at once. */
export interface LiveFleet {
  /** The agents of these namespaces, ordered by namespace and name; null: of every namespace. */
  excerpts(namespaces: readonly string[] | null): Promise<readonly AgentExcerpt[]>;
  readonly streams: FleetStreams;
}

type Parts = Pick<ControlPlaneContext, 'store' | 'clock' | 'stopping'>;

/** Streams and snapshot share the changes of the store. Nothing is read before the first use. */
export function createLiveFleet({ store, clock, stopping: signal }: Parts): LiveFleet {
  const snapshotOf = (of: Store, feed: FleetFeed): FleetSnapshot =>
    new FleetSnapshot({ store: of, feed, clock, signal });
  const feed = new FleetFeed(store, clock);
  const agents = snapshotOf(store, feed);
  const { cluster } = store;
  const observed = cluster === undefined ? null : snapshotOf(cluster, new FleetFeed(cluster, clock));
  return {
    async excerpts(namespaces) {
      const all =
        observed === null
          ? await agents.agents()
          : withObserved(...(await Promise.all([agents.agents(), observed.agents()])));
      if (namespaces === null) return all;
      const wanted = new Set(namespaces);
      return all.filter(({ namespace }) => wanted.has(namespace));
    },
    streams: new FleetStreams({ feed, clock, signal }),
  };
}
