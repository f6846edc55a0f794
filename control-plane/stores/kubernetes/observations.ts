import type { AgentObservation } from '../../../core/observation/observation.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { createInformer, type Change, type Informer } from '../../../kube/informer.ts';
import { getObject } from '../../../kube/objects.ts';
import { AGENT_OBSERVATIONS, keyText } from '../../../kube/resources.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { AgentKey } from '../store.ts';
import { keptOf } from './record.ts';

/** The AgentObservations of the cluster, as new as this process knows them. */
export interface Observations {
  start(): void;
  close(): Promise<void>;
  /** The first list is there. */
  isSynced(): boolean;
  /** Synced, and the API server was heard lately. */
  isFresh(): boolean;
  get(key: AgentKey): AgentObservation | undefined;
  list(): AgentObservation[];
  /** The object as the API server has it now. */
  read(key: AgentKey): Promise<AgentObservation | undefined>;
  /** The same, at most once a second per object: for what another replica may have written a moment ago. */
  refresh(key: AgentKey): Promise<AgentObservation | undefined>;
  /** Takes what the API server answered to a write, until the watch brings the same or newer. */
  remember(object: AgentObservation): void;
  /** The object was deleted by this process. */
  forget(object: AgentObservation): void;
}

interface Own {
  object: AgentObservation;
  /** Deleted here: the copy with this uid that the watch still has is not there any more. */
  deleted: boolean;
  sinceMs: number;
}

/** A watch that has not caught up by then is cut, and what it says later is as good as what was remembered; milliseconds. */
const OWN_MS = 60_000;
const REFRESH_MS = 1_000;
/** Somebody waits for the answer, and for ten seconds at most. */
const READ_MS = 5_000;

export interface ObservationsOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  /** An object is gone. */
  onGone(key: AgentKey): void;
}

export function createObservations(options: ObservationsOptions): Observations {
  return new WatchedObservations(options);
}

class WatchedObservations implements Observations {
  readonly #options: ObservationsOptions;
  readonly #informer: Informer<AgentObservation>;
  readonly #own = new Map<string, Own>();
  readonly #refreshes = new Map<string, { atMs: number; answer: Promise<unknown> }>();
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
    const running = this.#refreshes.get(text) ?? { atMs: nowMs, answer: this.read(key) };
    this.#refreshes.set(text, running);
    await running.answer;
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
    // Of two answers that cross, the newer one stays; what was deleted does not come back.
    if (known !== undefined && versionOf(known.object) > versionOf(object)) return;
    if (known?.deleted && known.object.metadata.uid === object.metadata.uid) return;
    const sinceMs = this.#options.clock.monotonicMs();
    this.#own.set(key, { object: keptOf(object), deleted, sinceMs });
  }

  #ownOf(key: string): Own | undefined {
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

function newer(watched: AgentObservation | undefined, own: Own): AgentObservation | undefined {
  if (own.deleted) return watched?.metadata.uid === own.object.metadata.uid ? undefined : watched;
  return watched !== undefined && versionOf(watched) >= versionOf(own.object) ? watched : own.object;
}

/** Versions of one resource are comparable numbers since Kubernetes 1.35, and were in practice on etcd ever since. */
function versionOf(object: AgentObservation): bigint {
  const { resourceVersion = '' } = object.metadata;
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
