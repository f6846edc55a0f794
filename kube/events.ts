import { createHash, randomBytes } from 'node:crypto';
import { describeError, type Logger } from '../runtime/logger.ts';
import type { Clock } from '../runtime/clock.ts';
import type { KubeClient } from './client.ts';
import { microTime } from './lease.ts';
import { expectOk } from './objects.ts';
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
   * What names this very occurrence, the same in every replica and after a restart, such as the version of the object
   * in which it was seen: an Event of it that is stored already is not told again. Absent: each record is one of its own.
   */
  occurrence?: string;
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
  /** The last one. */
  occurrence?: string | undefined;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
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
    const { clock, logger } = this.#options;
    const { uid, namespace, name } = note.regarding;
    const key = [uid, namespace, name, note.type, note.reason, note.note].join('\0');
    const known = this.#series.get(key);
    if (known !== undefined && note.occurrence !== undefined && known.occurrence === note.occurrence) {
      this.#waiting -= 1;
      return;
    }
    this.#series.delete(key);
    try {
      const repeated =
        known && clock.monotonicMs() < known.untilMs ? await this.#repeat(known, namespace) : null;
      this.#remember(key, { ...(repeated ?? (await this.#create(note))), occurrence: note.occurrence });
    } catch (error) {
      logger.warn('event is not stored', { reason: note.reason, error: describeError(error) });
    } finally {
      this.#waiting -= 1;
    }
  }

  async #create(note: EventNote): Promise<Series> {
    const { client, controller, instance, clock } = this.#options;
    const { occurrence, ...told } = note;
    const { namespace } = note.regarding;
    const suffix = occurrence === undefined ? randomBytes(8).toString('hex') : digestOf(note);
    const name = `${note.regarding.name.slice(0, 200)}.${suffix}`;
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace },
      eventTime: microTime(clock.now()),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      ...told,
      note: note.note.slice(0, 1_024),
    };
    const answer = await client.send({ method: 'POST', path: collectionPath(EVENTS, namespace), body });
    const isTold = !answer.ok && answer.reason === 'AlreadyExists' && occurrence !== undefined;
    if (!isTold) expectOk(answer);
    return { name, count: 1, untilMs: clock.monotonicMs() + SERIES_MS };
  }

  /** Null: the first event is gone meanwhile. */
  async #repeat(known: Series, namespace: string): Promise<Series | null> {
    const { client, clock } = this.#options;
    const count = known.count + 1;
    const answer = await client.send({
      method: 'PATCH',
      path: objectPath(EVENTS, { namespace, name: known.name }),
      contentType: 'application/merge-patch+json',
      body: { series: { count, lastObservedTime: microTime(clock.now()) } },
    });
    if (!answer.ok && answer.status === 404) return null;
    expectOk(answer);
    return { name: known.name, count, untilMs: clock.monotonicMs() + SERIES_MS };
  }

  #remember(key: string, series: Series): void {
    this.#series.set(key, series);
    // A Map keeps the order of insertion, so the first key is the oldest.
    const oldest = this.#series.keys().next().value;
    if (this.#series.size > REMEMBERED && oldest !== undefined) this.#series.delete(oldest);
  }
}

/** As long as a random suffix, and the same for the same occurrence. */
function digestOf({ regarding, reason, occurrence = '' }: EventNote): string {
  const text = [regarding.uid ?? '', regarding.kind, reason, occurrence].join('\0');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
