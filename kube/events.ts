import { createHash, randomBytes } from 'node:crypto';
import { setNewest } from '../core/untrusted/set-newest.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import type { Clock } from '../runtime/clock.ts';
import type { KubeResponse, KubeClient } from './client.ts';
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
  /** Occurrences with the same series share one Event, which counts them. Absent: each occurrence is a separate Event. */
  series?: string;
}

export interface EventRecorderOptions {
  client: KubeClient;
  /** `platform.io/operator` */
  controller: string;
  /** The pod's name. */
  instance: string;
  clock: Clock;
  logger: Logger;
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
/** A repetition within this time increments the count of the first Event. */
const SERIES_MS = 600_000;
const REMEMBERED = 1_000;
/**
 * Limit of queued Events; more are dropped. Two thousand agents that become silent at once cause four thousand Events,
 * because each is emitted on its observation and on its workload.
 */
const WAITING = 5_000;
/** Limit for the Events of one namespace, whose users may cause any number of Events. */
const WAITING_OF_ONE = 4_000;

/** An Event of this process, and how often it was counted. */
interface Counted {
  name: string;
  count: number;
}

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Counted & { untilMs: number }>();
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
        eventReason: note.reason,
        namespace,
        queued: this.#waiting,
      });
      return;
    }
    this.#waiting += 1;
    this.#waitingIn.set(namespace, ofNamespace + 1);
    this.#last = this.#last.then(() => this.#store(note));
  }

  /** Waits until all recorded Events are written or dropped. */
  flush(): Promise<void> {
    return this.#last;
  }

  async #store(note: EventNote): Promise<void> {
    const { occurrence, series = occurrence, ...about } = note;
    try {
      if (occurrence === undefined || series === undefined) await this.#record(about);
      else await this.#emit(about, occurrence, series);
    } catch (error) {
      this.#options.logger.warn('failed to write Kubernetes Event, Event dropped', {
        eventReason: note.reason,
        error: describeError(error),
      });
    } finally {
      this.#waiting -= 1;
      this.#forget(about.regarding);
    }
  }

  #forget({ namespace }: EventNote['regarding']): void {
    const waiting = (this.#waitingIn.get(namespace) ?? 1) - 1;
    if (waiting > 0) this.#waitingIn.set(namespace, waiting);
    else this.#waitingIn.delete(namespace);
  }

  /** Creates the Event of the series, or increments its count if the occurrence is not counted yet. */
  async #emit(note: EventNote, occurrence: string, series: string): Promise<void> {
    const name = nameOf(note, digestOf(note, series));
    const id = `${name} ${occurrence}`;
    if (this.#emitted.has(id)) return;
    for (let attempt = 1; !(await this.#tryToEmit(note, name, occurrence)); attempt += 1)
      if (attempt === ATTEMPTS) throw new Error(`could not write Event ${name} in ${ATTEMPTS} attempts`);
    setNewest(this.#emitted, [id, true], REMEMBERED);
  }

  /** Returns false when another process changed the Event meanwhile, or the Event expired. */
  async #tryToEmit(note: EventNote, name: string, occurrence: string): Promise<boolean> {
    const { namespace } = note.regarding;
    const created = await this.#post(note, { name, namespace, annotations: { [OCCURRENCES]: occurrence } });
    if (created.ok) return true;
    if (created.reason !== 'AlreadyExists') expectOk(created);
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const { items } = await listObjects(this.#options.client, EVENTS, selection);
    if (items[0] === undefined) return false;
    const before = items[0].metadata.annotations?.[OCCURRENCES]?.split(' ') ?? [];
    if (before.includes(occurrence)) return true;
    const counted = await this.#count(items[0], [...before, occurrence]);
    if (!counted.ok && counted.status !== 404 && counted.status !== 409) expectOk(counted);
    return counted.ok;
  }

  #count({ metadata, series }: StoredEvent, occurrences: readonly string[]): Promise<KubeResponse<unknown>> {
    const { name, resourceVersion } = metadata;
    const annotations = { [OCCURRENCES]: occurrences.slice(-OCCURRENCES_KEPT).join(' ') };
    return patchObject(this.#options.client, EVENTS, metadata, {
      metadata: { name, resourceVersion, annotations },
      series: this.#seriesOf((series?.count ?? 1) + 1),
    });
  }

  /** Records a note without an occurrence. A repetition within ten minutes increments the count. */
  async #record(note: EventNote): Promise<void> {
    const { clock } = this.#options;
    const { uid, namespace, name } = note.regarding;
    const key = [uid, namespace, name, note.type, note.reason, note.note].join('\0');
    const known = this.#series.get(key);
    this.#series.delete(key);
    const isRepeated = known !== undefined && clock.monotonicMs() < known.untilMs;
    const event = (isRepeated ? await this.#repeat(known, namespace) : null) ?? (await this.#create(note));
    setNewest(this.#series, [key, { ...event, untilMs: clock.monotonicMs() + SERIES_MS }], REMEMBERED);
  }

  async #create(note: EventNote): Promise<Counted> {
    const name = nameOf(note, randomBytes(8).toString('hex'));
    expectOk(await this.#post(note, { name, namespace: note.regarding.namespace }));
    return { name, count: 1 };
  }

  #post(note: EventNote, metadata: ObjectMeta & { namespace: string }): Promise<KubeResponse<unknown>> {
    const { client, controller, instance, clock } = this.#options;
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata,
      eventTime: microTime(clock.now()),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      ...note,
      note: note.note.slice(0, 1_024),
    };
    return client.send({ method: 'POST', path: collectionPath(EVENTS, metadata.namespace), body });
  }

  #seriesOf(count: number): StoredEvent['series'] {
    return { count, lastObservedTime: microTime(this.#options.clock.now()) };
  }

  /** Returns null when the first Event no longer exists. */
  async #repeat({ name, count: before }: Counted, namespace: string): Promise<Counted | null> {
    const count = before + 1;
    const series = this.#seriesOf(count);
    const response = await patchObject(this.#options.client, EVENTS, { namespace, name }, { series });
    if (!response.ok && response.status === 404) return null;
    expectOk(response);
    return { name, count };
  }
}

const nameOf = ({ regarding }: EventNote, suffix: string): string =>
  `${regarding.name.slice(0, 200)}.${suffix}`;

/** A suffix as long as a random one, and the same in every replica for the same series. */
function digestOf({ regarding, type, reason }: EventNote, series: string): string {
  const text = [regarding.uid ?? '', regarding.kind, type, reason, series].join('\0');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
