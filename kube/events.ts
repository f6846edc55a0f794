import { createHash, randomBytes } from 'node:crypto';
import { describeError, type Logger } from '../runtime/logger.ts';
import type { Clock } from '../runtime/clock.ts';
import type { KubeAnswer, KubeClient } from './client.ts';
import { microTime } from './lease.ts';
import { expectOk, listObjects } from './objects.ts';
import { collectionPath, objectPath, type Resource } from './resources.ts';
import type { ObjectMeta, ObjectReference } from './types.ts';

/** What `kubectl describe` shows under Events. */
export interface EventNote {
  regarding: ObjectReference & { namespace: string };
  type: 'Normal' | 'Warning';
  /** UpperCamelCase, what happened. */
  reason: string;
  /** UpperCamelCase, what this process did or looked at. */
  action: string;
  /** A sentence; cut at 1,024 characters, the API server's limit. */
  note: string;
  /**
   * What names this very occurrence, the same in every replica and after a restart and without white space, such as the
   * version of the object in which it was seen: it is told once, whoever saw it. Absent: each record is one of its own.
   */
  occurrence?: string;
  /** What occurrences share that are one Event, which counts them. Absent: each occurrence is an Event of its own. */
  series?: string;
}

export interface EventRecorder {
  /** Never throws and never waits: an event that cannot be stored is only logged. */
  record(note: EventNote): void;
  /** Waits for events under way. */
  flush(): Promise<void>;
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

/** An Event as the API server keeps it, this recorder's and everybody else's. */
export interface StoredEvent {
  metadata: ObjectMeta;
  regarding?: ObjectReference;
  reason?: string;
  note?: string;
  series?: { count: number; lastObservedTime: string };
}

export const EVENTS: Resource<StoredEvent> = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
};
/**
 * The occurrences that an Event has told, in its annotations: whoever begins to lead tells what was seen in the last minute,
 * and reads there what was told before. As many as are kept last far longer than that.
 */
const OCCURRENCES = 'platform.io/occurrences';
const OCCURRENCES_KEPT = 20;
/** Two replicas may tell at once while the lead changes, and an Event may expire between two requests. */
const ATTEMPTS = 5;
/** The same event inside this time raises the count of the first one. */
const SERIES_MS = 600_000;
const REMEMBERED = 1_000;
/**
 * Events that wait for their turn; more are dropped. Two thousand agents that fall silent at once are four thousand: each
 * is told on its observation and on its workload.
 */
const WAITING = 5_000;

interface Series {
  name: string;
  count: number;
  untilMs: number;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  /** Occurrences that this process need not tell again. */
  readonly #told = new Set<string>();
  /** One after the other, so that a repetition never overtakes its first. */
  #last = Promise.resolve();
  #waiting = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  record(note: EventNote): void {
    if (this.#waiting >= WAITING) {
      this.#options.logger.warn('event is dropped', { reason: note.reason, waiting: this.#waiting });
      return;
    }
    this.#waiting += 1;
    this.#last = this.#last.then(() => this.#store(note));
  }

  flush(): Promise<void> {
    return this.#last;
  }

  async #store(note: EventNote): Promise<void> {
    const { occurrence, series = occurrence, ...about } = note;
    try {
      if (occurrence === undefined || series === undefined) await this.#record(about);
      else await this.#tell(about, occurrence, series);
    } catch (error) {
      this.#options.logger.warn('event is not stored', { reason: note.reason, error: describeError(error) });
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Once, and once more in the count for each occurrence of the series that is not told yet. */
  async #tell(note: EventNote, occurrence: string, series: string): Promise<void> {
    const name = nameOf(note, digestOf(note, series));
    const told = `${name} ${occurrence}`;
    if (this.#told.has(told)) return;
    for (let attempt = 1; !(await this.#tryToTell(note, name, occurrence)); attempt += 1)
      if (attempt === ATTEMPTS) throw new Error(`Event ${name} comes and goes`);
    this.#told.add(told);
    forgetOldest(this.#told);
  }

  /** False: somebody else wrote the Event meanwhile, or it expired. */
  async #tryToTell(note: EventNote, name: string, occurrence: string): Promise<boolean> {
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

  #count({ metadata, series }: StoredEvent, occurrences: readonly string[]): Promise<KubeAnswer<unknown>> {
    const { name, resourceVersion } = metadata;
    const annotations = { [OCCURRENCES]: occurrences.slice(-OCCURRENCES_KEPT).join(' ') };
    return this.#patch(metadata, {
      metadata: { name, resourceVersion, annotations },
      series: this.#seriesOf((series?.count ?? 1) + 1),
    });
  }

  /** A note without an occurrence: the same one again inside ten minutes raises the count. */
  async #record(note: EventNote): Promise<void> {
    const { clock } = this.#options;
    const { uid, namespace, name } = note.regarding;
    const key = [uid, namespace, name, note.type, note.reason, note.note].join('\0');
    const known = this.#series.get(key);
    this.#series.delete(key);
    const repeated =
      known && clock.monotonicMs() < known.untilMs ? await this.#repeat(known, namespace) : null;
    this.#series.set(key, repeated ?? (await this.#create(note)));
    forgetOldest(this.#series);
  }

  async #create(note: EventNote): Promise<Series> {
    const name = nameOf(note, randomBytes(8).toString('hex'));
    expectOk(await this.#post(note, { name, namespace: note.regarding.namespace }));
    return { name, count: 1, untilMs: this.#options.clock.monotonicMs() + SERIES_MS };
  }

  #post(note: EventNote, metadata: ObjectMeta & { namespace: string }): Promise<KubeAnswer<unknown>> {
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

  #patch({ namespace = '', name }: ObjectMeta, body: object): Promise<KubeAnswer<unknown>> {
    return this.#options.client.send({
      method: 'PATCH',
      path: objectPath(EVENTS, { namespace, name }),
      contentType: 'application/merge-patch+json',
      body,
    });
  }

  #seriesOf(count: number): StoredEvent['series'] {
    return { count, lastObservedTime: microTime(this.#options.clock.now()) };
  }

  /** Null: the first event is gone meanwhile. */
  async #repeat(known: Series, namespace: string): Promise<Series | null> {
    const count = known.count + 1;
    const answer = await this.#patch({ namespace, name: known.name }, { series: this.#seriesOf(count) });
    if (!answer.ok && answer.status === 404) return null;
    expectOk(answer);
    return { name: known.name, count, untilMs: this.#options.clock.monotonicMs() + SERIES_MS };
  }
}

/** A Map and a Set keep the order of insertion, so the first is the oldest. */
function forgetOldest(remembered: Map<string, unknown> | Set<string>): void {
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
}

const nameOf = ({ regarding }: EventNote, suffix: string): string =>
  `${regarding.name.slice(0, 200)}.${suffix}`;

/** As long as a random suffix, and the same for the same series in every replica. */
function digestOf({ regarding, type, reason }: EventNote, series: string): string {
  const text = [regarding.uid ?? '', regarding.kind, type, reason, series].join('\0');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
