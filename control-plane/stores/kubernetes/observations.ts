import type { AgentObservation } from '../../../core/observation/observation.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { createInformer, type Change, type Informer } from '../../../kube/informer.ts';
import { getObject } from '../../../kube/objects.ts';
import { AGENT_OBSERVATIONS, keyText } from '../../../kube/resources.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { AgentKey } from '../store.ts';
import { keptOf } from './record.ts';

/** Cache of the cluster's AgentObservations that includes this process's own writes. */
export interface Observations {
  start(): void;
  close(): Promise<void>;
  /** The first list is complete. */
  isSynced(): boolean;
  /** Synced, and the API server responded recently. */
  isFresh(): boolean;
  get(key: AgentKey): AgentObservation | undefined;
  list(): AgentObservation[];
  /** Reads the object from the API server. */
  read(key: AgentKey): Promise<AgentObservation | undefined>;
  /** Like `read`, at most once per second and object. Finds recent writes of other replicas. */
  refresh(key: AgentKey): Promise<AgentObservation | undefined>;
  /** Keeps the result of a write until the watch delivers the same or a newer version. */
  remember(object: AgentObservation): void;
  /** Marks an object that this process has deleted. */
  forget(object: AgentObservation): void;
}

interface OwnWrite {
  object: AgentObservation;
  /** Deleted by this process; the watch may still have a copy with this UID. */
  deleted: boolean;
  sinceMs: number;
}

/** How long an own write is kept, in milliseconds. A watch that lags longer than this has been restarted. */
const OWN_MS = 60_000;
const REFRESH_MS = 1_000;
/** Timeout for a read, in milliseconds. A client waits for the result, and senders wait at most ten seconds. */
const READ_MS = 5_000;

export interface ObservationsOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  /** Called when an object was deleted. */
  onGone(key: AgentKey): void;
}

export function createObservations(options: ObservationsOptions): Observations {
  return new WatchedObservations(options);
}

class WatchedObservations implements Observations {
  readonly #options: ObservationsOptions;
  readonly #informer: Informer<AgentObservation>;
  readonly #own = new Map<string, OwnWrite>();
  readonly #refreshes = new Map<string, { atMs: number; result: Promise<unknown> }>();
  #synced = false;

  constructor(options: ObservationsOptions) {
    this.#options = options;
    const { client, clock, logger } = options;
    this.#informer = createInformer<AgentObservation>({
      client,
      clock,
      logger,
      resource: AGENT_OBSERVATIONS,
      keep: keptOf,
      onChange: (change) => this.#changed(change),
    });
  }

  start(): void {
    this.#informer.start();
    void this.#informer.synced().then(() => (this.#synced = true));
  }

  close(): Promise<void> {
    return this.#informer.close();
  }

  isSynced(): boolean {
    return this.#synced;
  }

  isFresh(): boolean {
    return this.#informer.isFresh();
  }

  get(key: AgentKey): AgentObservation | undefined {
    const watched = this.#informer.get(key);
    const own = this.#ownOf(keyText(key));
    return own === undefined ? watched : newer(watched, own);
  }

  list(): AgentObservation[] {
    const watched = this.#informer.list().map((object) => keyText(object.metadata));
    const keys = new Set([...watched, ...this.#own.keys()]);
    return [...keys].flatMap((key) => {
      const [namespace = '', name = ''] = key.split('/');
      return this.get({ namespace, name }) ?? [];
    });
  }

  async read({ namespace, name }: AgentKey): Promise<AgentObservation | undefined> {
    const inTime = AbortSignal.timeout(READ_MS);
    const object = await getObject(this.#options.client, AGENT_OBSERVATIONS, { namespace, name }, inTime);
    if (object !== null) this.remember(object);
    return object === null ? undefined : this.get(object.metadata);
  }

  async refresh(key: AgentKey): Promise<AgentObservation | undefined> {
    const text = keyText(key);
    const nowMs = this.#options.clock.monotonicMs();
    for (const [each, { atMs }] of this.#refreshes)
      if (nowMs - atMs >= REFRESH_MS) this.#refreshes.delete(each);
    const running = this.#refreshes.get(text) ?? { atMs: nowMs, result: this.read(key) };
    this.#refreshes.set(text, running);
    await running.result;
    return this.get(key);
  }

  remember(object: AgentObservation): void {
    this.#keep(object, false);
  }

  forget(object: AgentObservation): void {
    this.#keep(object, true);
    this.#options.onGone(object.metadata);
  }

  #keep(object: AgentObservation, deleted: boolean): void {
    const key = keyText(object.metadata);
    const known = this.#ownOf(key);
    // Responses can arrive out of order: the newer version wins, and a deleted object stays deleted.
    if (known !== undefined && versionOf(known.object) > versionOf(object)) return;
    if (known?.deleted && known.object.metadata.uid === object.metadata.uid) return;
    const sinceMs = this.#options.clock.monotonicMs();
    this.#own.set(key, { object: keptOf(object), deleted, sinceMs });
  }

  #ownOf(key: string): OwnWrite | undefined {
    const own = this.#own.get(key);
    if (own === undefined || this.#options.clock.monotonicMs() - own.sinceMs < OWN_MS) return own;
    this.#own.delete(key);
    return undefined;
  }

  #changed(change: Change<AgentObservation>): void {
    const { metadata } = change.object;
    const key = keyText(metadata);
    const own = this.#own.get(key);
    if (change.type === 'deleted') {
      if (own?.object.metadata.uid === metadata.uid) this.#own.delete(key);
      this.#options.onGone(metadata);
    } else if (own !== undefined && versionOf(change.object) >= versionOf(own.object)) {
      this.#own.delete(key);
    }
  }
}

function newer(watched: AgentObservation | undefined, own: OwnWrite): AgentObservation | undefined {
  if (own.deleted) return watched?.metadata.uid === own.object.metadata.uid ? undefined : watched;
  return watched !== undefined && versionOf(watched) >= versionOf(own.object) ? watched : own.object;
}

/** Versions of one resource are comparable numbers since Kubernetes 1.35; with etcd they always were in practice. */
function versionOf(object: AgentObservation): bigint {
  const { resourceVersion = '' } = object.metadata;
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
