import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { BehavioralEvent } from '../core/behavior/audit-entry.ts';
import { EVENT_BATCH_LIMITS, parseEventBatch } from '../core/behavior/parse-event-batch.ts';
import type { PushLogger } from './clock.ts';
import { postJson } from './post-json.ts';
import { describe } from './push-heartbeat.ts';

export interface EventClientOptions {
  /** The sidecar's control port, such as `http://127.0.0.1:4001`; a path in it is kept. */
  url: URL;
  /** Recorded with each batch. */
  agentName?: string;
  logger: PushLogger;
  /** Milliseconds for one batch; default 2000. */
  timeoutMs?: number;
  /** Events that wait at most; further ones are dropped. Default 1000. */
  maxQueued?: number;
}

/** Since the client was made; every event that `send` was given is in one of the three, or in none while it travels. */
export interface EventCounts {
  /** The sidecar accepted them, whether it still had the request or not. */
  delivered: number;
  /** Refused, one too many, or the sidecar did not take them. */
  dropped: number;
  /** They wait or travel. */
  queued: number;
}

/**
 * Behavioral events on their way to the sidecar's `POST /events`: sent once, never waited for, never kept for later. Only
 * `model` events of a request that the sidecar does not have are sent again, without the request: their tokens count.
 */
export interface EventClient {
  /**
   * Events of one request, the one that the sidecar gave this id (`x-request-id`); null: `model` events of no request.
   * Returns at once; false: they are dropped. Never throws, and keeps no process alive.
   */
  send(requestId: string | null, events: readonly BehavioralEvent[]): boolean;
  /** Resolves when nothing waits or travels any more, or after so many milliseconds (default 1000). Keeps the process alive meanwhile. */
  flush(timeoutMs?: number): Promise<void>;
  /** As `flush`; what is then left is dropped, and so is everything that is sent afterwards. */
  close(timeoutMs?: number): Promise<void>;
  counts(): EventCounts;
}

const TIMEOUT_MS = 2_000;
const MAX_QUEUED = 1_000;
const FLUSH_MS = 1_000;
const MAX_IN_FLIGHT = 4;

export function createEventClient(options: EventClientOptions): EventClient {
  return new Client(options);
}

/** An event as JSON, and whether it counts without its request. */
interface Queued {
  text: string;
  isUsage: boolean;
}

/** By request, in the order of the requests; null: of none. */
type Queue = Map<string | null, Queued[]>;

interface Batch {
  body: string;
  count: number;
  /** What is sent again when the sidecar does not have the request. */
  usage: readonly Queued[];
}

class Client implements EventClient {
  readonly #options: EventClientOptions;
  readonly #endpoint: URL;
  readonly #agent: HttpAgent;
  readonly #closing = new AbortController();
  readonly #queue: Queue = new Map();
  readonly #idle = new Set<() => void>();
  #waiting = 0;
  #travelling = 0;
  #inFlight = 0;
  #delivered = 0;
  #dropped = 0;
  #isScheduled = false;
  #isFailing = false;
  /** Statuses of a sidecar that is there, of an older version or not a sidecar: the next answer may be another one. */
  readonly #refusals = new Set<number>();
  #hasRefused = false;

  constructor(options: EventClientOptions) {
    const base = options.url.href.endsWith('/') ? options.url.href : `${options.url.href}/`;
    const keeping = { keepAlive: true, maxSockets: MAX_IN_FLIGHT };
    this.#options = options;
    this.#endpoint = new URL('events', base);
    this.#agent = options.url.protocol === 'https:' ? new HttpsAgent(keeping) : new HttpAgent(keeping);
  }

  counts(): EventCounts {
    return { delivered: this.#delivered, dropped: this.#dropped, queued: this.#waiting + this.#travelling };
  }

  send(requestId: string | null, events: readonly BehavioralEvent[]): boolean {
    const read = this.#read(requestId, events);
    if (read === null || !this.#enqueue(requestId, read)) return false;
    this.#schedule();
    return true;
  }

  /** false: they are dropped. */
  #enqueue(requestId: string | null, events: readonly Queued[]): boolean {
    const { maxQueued = MAX_QUEUED } = this.#options;
    if (this.#closing.signal.aborted || this.#waiting + events.length > maxQueued) {
      this.#dropped += events.length;
      return false;
    }
    if (events.length === 0) return true;
    this.#queue.set(requestId, [...(this.#queue.get(requestId) ?? []), ...events]);
    this.#waiting += events.length;
    return true;
  }

  async flush(timeoutMs = FLUSH_MS): Promise<void> {
    if (this.#waiting + this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#idle.delete(end);
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.#idle.add(end);
      this.#drain();
    });
  }

  async close(timeoutMs = FLUSH_MS): Promise<void> {
    await this.flush(timeoutMs);
    this.#closing.abort();
    this.#dropped += this.#waiting;
    this.#waiting = 0;
    this.#queue.clear();
    this.#agent.destroy();
  }

  /** Each event checked as the sidecar will check it, so that a wrong one costs no other; null: refused. */
  #read(requestId: string | null, events: readonly BehavioralEvent[]): Queued[] | null {
    let count = 0;
    let reason: unknown;
    try {
      count = events.length;
      const read: Queued[] = [];
      for (let from = 0; from < count || from === 0; from += EVENT_BATCH_LIMITS.events) {
        const part = events.slice(from, from + EVENT_BATCH_LIMITS.events);
        // Left out by mistake is not null.
        const parsed = parseEventBatch({ requestId: requestId === undefined ? '' : requestId, events: part });
        if (!parsed.ok)
          throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '));
        for (const event of parsed.value.events)
          read.push({ text: JSON.stringify(event), isUsage: event.type === 'model' });
      }
      return read;
    } catch (error) {
      reason = error;
    }
    this.#dropped += Math.max(count, 1);
    if (!this.#hasRefused) this.#options.logger.warn('events are refused', { reason: describe(reason) });
    this.#hasRefused = true;
    return null;
  }

  /** Not at once: what one turn of the event loop reports of a request goes out in one batch. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#drain()).unref();
  }

  #drain(): void {
    this.#isScheduled = false;
    while (this.#inFlight < MAX_IN_FLIGHT) {
      const batch = this.#nextBatch();
      if (batch === null) break;
      void this.#post(batch);
    }
    if (this.#waiting + this.#inFlight === 0) for (const end of this.#idle) end();
  }

  #nextBatch(): Batch | null {
    for (const [requestId, events] of this.#queue) {
      const { agentName } = this.#options;
      const head = JSON.stringify({ requestId, agentName }).slice(0, -1) + ',"events":[';
      let bytes = Buffer.byteLength(head) + 2;
      let count = 0;
      while (count < events.length && count < EVENT_BATCH_LIMITS.events) {
        bytes += Buffer.byteLength(events[count]?.text ?? '') + 1;
        if (bytes > EVENT_BATCH_LIMITS.bytes) break;
        count += 1;
      }
      const taken = events.splice(0, count);
      if (events.length === 0) this.#queue.delete(requestId);
      this.#waiting -= count;
      const body = `${head}${taken.map(({ text }) => text).join(',')}]}`;
      return { body, count, usage: requestId === null ? [] : taken.filter(({ isUsage }) => isUsage) };
    }
    return null;
  }

  async #post({ body, count, usage }: Batch): Promise<void> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    this.#inFlight += 1;
    this.#travelling += count;
    const answer = await postJson({
      url: this.#endpoint,
      bearer: null,
      body,
      ca: null,
      timeoutMs,
      signal: this.#closing.signal,
      agent: this.#agent,
      isBackground: true,
    }).then(
      ({ status }) => status,
      (error: unknown) => describe(error),
    );
    this.#inFlight -= 1;
    this.#travelling -= count;
    const again = answer === 202 ? usage : [];
    this.#settle(count - again.length, answer);
    this.#enqueue(null, again);
    this.#drain();
  }

  /** One warning per outage and per kind of refusal: the agent must not be slowed down or flooded by a sidecar that is away. */
  #settle(count: number, answer: number | string): void {
    if (answer === 200 || answer === 202) {
      this.#delivered += count;
      this.#isFailing = false;
      return;
    }
    this.#dropped += count;
    const isRefusal = typeof answer === 'number' && answer < 500;
    const isKnown = isRefusal ? this.#refusals.has(answer) : this.#isFailing;
    if (isRefusal) this.#refusals.add(answer);
    else this.#isFailing = true;
    const reason = typeof answer === 'number' ? `status ${answer}` : answer;
    if (!isKnown && !this.#closing.signal.aborted)
      this.#options.logger.warn('events do not arrive', { url: this.#endpoint.origin, reason });
  }
}
