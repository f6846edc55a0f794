import type { AgentObservation } from '../../../core/observation/observation.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { Informer, type Change } from '../../../kube/informer.ts';
import { createObject, deleteObject, getObject } from '../../../kube/objects.ts';
import { AGENT_OBSERVATIONS, keyText } from '../../../kube/resources.ts';
import { StatusWriter, type StatusUpdate, type WriteResult } from '../../../kube/status-writer.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Metrics } from '../../../runtime/metrics.ts';
import type { AgentKey } from '../store.ts';
import { keptOf } from './record.ts';

/** The complete status that the object should have; null: no change. Runs again after a write conflict. */
export type Update = StatusUpdate<AgentObservation, ObservationStatus>;

interface OwnWrite {
  object: AgentObservation;
  /** Deleted by this process; the watch may still have a copy with this UID. */
  deleted: boolean;
  sinceMs: number;
}

/** How long our own write is kept, in milliseconds. A watch that lags longer than this has been restarted. */
const OWN_MS = 60_000;
const REFRESH_MS = 1_000;
/** Timeout for a read, in milliseconds. A client waits for the result, and senders wait at most ten seconds. */
const READ_MS = 5_000;

export interface ObservationsOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Called when an object may have changed: in the watch, or by a write or read of this process. */
  onChange(key: AgentKey): void;
  /** Called when an object was deleted. */
  onGone(key: AgentKey): void;
}

/** The cluster's AgentObservations, with a cache that includes this process's own writes. */
export class Observations {
  readonly #options: ObservationsOptions;
  readonly #informer: Informer<AgentObservation>;
  readonly #writer: StatusWriter<AgentObservation, ObservationStatus>;
  readonly #own = new Map<string, OwnWrite>();
  readonly #refreshes = new Map<string, { atMs: number; result: Promise<unknown> }>();
  #synced = false;

  constructor(options: ObservationsOptions) {
    this.#options = options;
    const { client, clock, logger, metrics } = options;
    const conflicts = metrics.counter(
      'platform_control_plane_status_conflicts_total',
      'AgentObservation status writes that were retried after a conflict.',
    );
    const resource = AGENT_OBSERVATIONS;
    this.#informer = new Informer<AgentObservation>({
      client,
      clock,
      logger,
      resource,
      keep: keptOf,
      namespacePart: 1 / 3,
      onChange: (change) => this.#changed(change),
    });
    metrics.gauge(
      'platform_control_plane_incomplete_namespaces',
      'Namespaces with more AgentObservations than this process has memory for; further ones are ignored.',
      () => [{ value: this.#informer.fullNamespaces.size }],
    );
    this.#writer = new StatusWriter({
      client,
      clock,
      resource,
      fieldManager: 'platform-control-plane',
      onConflict: () => conflicts.add(),
    });
  }

  start(): void {
    this.#informer.start();
    void this.#informer.synced().then(() => (this.#synced = true));
  }

  close(): Promise<void> {
    return this.#informer.close();
  }

  /** The first list is complete. */
  isSynced(): boolean {
    return this.#synced;
  }

  /** Synced, and the API server responded recently. */
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

  /** The namespaces of the objects, in order. */
  namespaces(): string[] {
    return [...new Set(this.list().map(({ metadata }) => metadata.namespace))].sort();
  }

  /** Reads the object from the API server. */
  async read({ namespace, name }: AgentKey): Promise<AgentObservation | undefined> {
    const inTime = AbortSignal.timeout(READ_MS);
    const object = await getObject(this.#options.client, AGENT_OBSERVATIONS, { namespace, name }, inTime);
    if (object !== null) this.#keep(object);
    return object === null ? undefined : this.get(object.metadata);
  }

  /** Like `read`, at most once per second and object. Finds recent writes of other replicas. */
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

  /** Computes the status from the stored object, which can be newer than the cached one, and writes it. */
  async write({ namespace, name }: AgentKey, update: Update): Promise<WriteResult<AgentObservation>> {
    const result = await this.#writer.write({ namespace, name }, update);
    if (result.outcome !== 'missing') this.#keep(result.object);
    return result;
  }

  /** Creates the object of a registered agent unless it exists. undefined: it was removed concurrently. */
  async ensureRemote({
    namespace,
    name,
  }: AgentKey): Promise<{ object: AgentObservation; created: boolean } | undefined> {
    const known = await this.read({ namespace, name });
    if (known !== undefined) return { object: known, created: false };
    const made = await createObject<AgentObservation>(this.#options.client, AGENT_OBSERVATIONS, {
      apiVersion: 'platform.io/v1',
      kind: 'AgentObservation',
      metadata: { namespace, name },
      spec: { source: 'remote' },
    });
    if (made.outcome === 'created') {
      this.#keep(made.object);
      return { object: made.object, created: true };
    }
    // Another replica created the object first.
    const object = await this.read({ namespace, name });
    return object && { object, created: false };
  }

  /** False: the object did not exist any more. */
  async remove(object: AgentObservation): Promise<boolean> {
    const { namespace, name, uid } = object.metadata;
    const removed = await deleteObject(this.#options.client, AGENT_OBSERVATIONS, { namespace, name }, uid);
    this.#keep(object, true);
    this.#options.onGone(object.metadata);
    return removed;
  }

  /** Keeps the result of a write until the watch delivers the same or a newer version. */
  #keep(object: AgentObservation, deleted = false): void {
    const key = keyText(object.metadata);
    // Otherwise the reads for heartbeats would keep the objects that the informer has no memory for.
    if (this.#informer.fullNamespaces.has(object.metadata.namespace) && !this.#informer.get(object.metadata))
      return;
    const known = this.#ownOf(key);
    // Responses can arrive out of order: the newer version wins, and a deleted object stays deleted.
    if (known !== undefined && versionOf(known.object) > versionOf(object)) return;
    if (known?.deleted && known.object.metadata.uid === object.metadata.uid) return;
    const sinceMs = this.#options.clock.monotonicMs();
    this.#own.set(key, { object: keptOf(object), deleted, sinceMs });
    this.#options.onChange(object.metadata);
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
    this.#options.onChange(metadata);
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
