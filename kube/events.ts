import { createHash, randomUUID } from 'node:crypto';
import { setNewest } from '../core/untrusted/set-newest.ts';
import { describeError } from '../runtime/logger.ts';
import type { ClusterParts } from './cluster-parts.ts';
import { microTime } from './lease.ts';
import { expectOk, listObjects, patchObject } from './objects.ts';
import { collectionPath, resource } from './resources.ts';
import type { ObjectMeta, ObjectReference } from './types.ts';

/** The content of an Event, as `kubectl describe` shows it. */
export interface EventNote {
  regarding: ObjectReference & { namespace: string };
  type: 'Normal' | 'Warning';
  /** What happened, in UpperCamelCase. */
  reason: string;
  /** What this process did or checked, in UpperCamelCase. */
  action: string;
  /** A sentence; cut at 1,024 characters, the API server's limit. */
  note: string;
  /**
   * Id of this occurrence without white space, the same in every replica and after a restart, such as the object's version.
   * An occurrence is emitted once, even if several replicas record it. Absent: each record is a separate occurrence.
   */
  occurrence?: string;
  /**
   * Occurrences with the same series share one Event, which counts them. Absent: each occurrence is a separate Event, and
   * records without an occurrence share the Event of their note.
   */
  series?: string;
}

export interface EventRecorderOptions extends ClusterParts {
  /** `platform.io/operator` */
  controller: string;
  /** The pod's name. */
  instance: string;
}

/** An Event in the API server, written by this recorder or by another client. */
export interface StoredEvent {
  metadata: ObjectMeta;
  regarding?: ObjectReference;
  reason?: string;
  note?: string;
  series?: { count: number; lastObservedTime: string };
}

export const EVENTS = resource<StoredEvent>('events.k8s.io', 'events', 'Event');
/**
 * Annotation with the occurrences that an Event has counted. A new leader records the occurrences of the last minute again
 * and skips those listed here. The list keeps occurrences for much longer than a minute.
 */
const OCCURRENCES = 'platform.io/occurrences';
const OCCURRENCES_KEPT = 20;
/** Two replicas may write at once while the leader changes, and an Event may expire between two requests. */
const ATTEMPTS = 5;
const REMEMBERED = 1_000;
/**
 * Limit of queued Events; more are dropped. Two thousand agents that become silent at once cause four thousand Events,
 * because each is emitted on its observation and on its workload.
 */
const WAITING = 5_000;
/** Limit for the Events of one namespace, whose users may cause any number of Events. */
const WAITING_OF_ONE = 4_000;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  /** Occurrences that this process has already emitted. */
  readonly #emitted = new Map<string, true>();
  /** Events are written one after the other, so that a repetition never overtakes the first one. */
  #last = Promise.resolve();
  #waiting = 0;
  /** Queued Events by namespace. */
  readonly #waitingIn = new Map<string, number>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Never throws and never waits. An Event that cannot be written is only logged. */
  record(note: EventNote): void {
    const { namespace } = note.regarding;
    const ofNamespace = this.#waitingIn.get(namespace) ?? 0;
    if (this.#waiting >= WAITING || ofNamespace >= WAITING_OF_ONE) {
      this.#options.logger.warn('Kubernetes Event dropped, queue full', {
        ...{ eventReason: note.reason, namespace, queued: this.#waiting },
      });
      return;
    }
    this.#count(namespace, 1);
    this.#last = this.#last
      .then(() => this.#emit(note))
      .catch((error: unknown) =>
        this.#options.logger.warn('failed to write Kubernetes Event, Event dropped', {
          ...{ eventReason: note.reason, error: describeError(error) },
        }),
      )
      .then(() => this.#count(namespace, -1));
  }

  /** Waits until all recorded Events are written or dropped. */
  flush(): Promise<void> {
    return this.#last;
  }

  #count(namespace: string, change: 1 | -1): void {
    this.#waiting += change;
    const ofNamespace = (this.#waitingIn.get(namespace) ?? 0) + change;
    if (ofNamespace > 0) this.#waitingIn.set(namespace, ofNamespace);
    else this.#waitingIn.delete(namespace);
  }

  async #emit(note: EventNote): Promise<void> {
    const { occurrence = randomUUID(), series = note.occurrence ?? note.note, ...about } = note;
    const name = `${note.regarding.name.slice(0, 200)}.${digestOf(note, series)}`;
    const id = `${name} ${occurrence}`;
    if (this.#emitted.has(id)) return;
    for (let attempt = 1; !(await this.#tryToEmit(about, name, occurrence)); attempt += 1)
      if (attempt === ATTEMPTS) throw new Error(`could not write Event ${name} in ${ATTEMPTS} attempts`);
    setNewest(this.#emitted, [id, true], REMEMBERED);
  }

  /**
   * Creates the Event of the series, or increments its count if the occurrence is not counted yet. Returns false when
   * another process changed the Event meanwhile, or the Event expired.
   */
  async #tryToEmit(note: EventNote, name: string, occurrence: string): Promise<boolean> {
    const { client, controller, instance, clock } = this.#options;
    const { namespace } = note.regarding;
    const nowText = microTime(clock.now());
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace, annotations: { [OCCURRENCES]: occurrence } },
      eventTime: nowText,
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      ...note,
      note: note.note.slice(0, 1_024),
    };
    const created = await client.send({ method: 'POST', path: collectionPath(EVENTS, namespace), body });
    if (created.ok) return true;
    if (created.reason !== 'AlreadyExists') expectOk(created);
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const [stored] = (await listObjects(client, EVENTS, selection)).items;
    if (stored === undefined) return false;
    const before = stored.metadata.annotations?.[OCCURRENCES]?.split(' ') ?? [];
    if (before.includes(occurrence)) return true;
    const { resourceVersion } = stored.metadata;
    const annotations = { [OCCURRENCES]: [...before, occurrence].slice(-OCCURRENCES_KEPT).join(' ') };
    const counted = await patchObject(client, EVENTS, stored.metadata, {
      metadata: { name, resourceVersion, annotations },
      series: { count: (stored.series?.count ?? 1) + 1, lastObservedTime: nowText },
    });
    if (!counted.ok && counted.status !== 404 && counted.status !== 409) expectOk(counted);
    return counted.ok;
  }
}

/** The same in every replica for the same series. */
function digestOf({ regarding, type, reason }: EventNote, series: string): string {
  const text = [regarding.uid ?? '', regarding.kind, type, reason, series].join('\0');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
