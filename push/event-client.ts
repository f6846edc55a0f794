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
  /** The sidecar took them, whether it still had the request or not. */
  delivered: number;
  /** Refused, one too many, or the sidecar did not take them. */
  dropped: number;
  /** They wait or travel. */
  queued: number;
}

/** Behavioral events on their way to the sidecar's `POST /events`: sent once, never waited for, never kept for later. */
export interface EventClient {
  /**
   * Events of one request, the one that the sidecar gave this id (`x-request-id`). Returns at once; false: they are
   * dropped. Never throws, and keeps no process alive.
   */
  send(requestId: string, events: readonly BehavioralEvent[]): boolean;
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

/** JSON texts of the events, by request, in the order of the requests. */
type Queue = Map<string, string[]>;

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

  send(requestId: string, events: readonly BehavioralEvent[]): boolean {
    const { maxQueued = MAX_QUEUED } = this.#options;
    const texts = this.#read(requestId, events);
    if (texts === null) return false;
    if (this.#closing.signal.aborted || this.#waiting + texts.length > maxQueued) {
      this.#dropped += texts.length;
      return false;
    }
    if (texts.length === 0) return true;
    this.#queue.set(requestId, [...(this.#queue.get(requestId) ?? []), ...texts]);
    this.#waiting += texts.length;
    this.#schedule();
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
  #read(requestId: string, events: readonly BehavioralEvent[]): string[] | null {
    let count = 0;
    let reason: unknown;
    try {
      count = events.length;
      const texts: string[] = [];
      for (let from = 0; from < count || from === 0; from += EVENT_BATCH_LIMITS.events) {
        const part = events.slice(from, from + EVENT_BATCH_LIMITS.events);
        const parsed = parseEventBatch({ requestId, events: part });
        if (!parsed.ok)
          throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '));
        texts.push(...parsed.value.events.map((event) => JSON.stringify(event)));
      }
      return texts;
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

  #nextBatch(): { body: string; count: number } | null {
    for (const [requestId, texts] of this.#queue) {
      const { agentName } = this.#options;
      const head = JSON.stringify({ requestId, agentName }).slice(0, -1) + ',"events":[';
      let bytes = Buffer.byteLength(head) + 2;
      let count = 0;
      while (count < texts.length && count < EVENT_BATCH_LIMITS.events) {
        bytes += Buffer.byteLength(texts[count] ?? '') + 1;
        if (bytes > EVENT_BATCH_LIMITS.bytes) break;
        count += 1;
      }
      const body = `${head}${texts.splice(0, count).join(',')}]}`;
      if (texts.length === 0) this.#queue.delete(requestId);
      this.#waiting -= count;
      return { body, count };
    }
    return null;
  }

  async #post({ body, count }: { body: string; count: number }): Promise<void> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    this.#inFlight += 1;
    this.#travelling += count;
    const failure = await postJson({
      url: this.#endpoint,
      bearer: null,
      body,
      ca: null,
      timeoutMs,
      signal: this.#closing.signal,
      agent: this.#agent,
      isBackground: true,
    }).then(
      ({ status }) => (status === 200 || status === 202 ? null : `status ${status}`),
      (error: unknown) => describe(error),
    );
    this.#inFlight -= 1;
    this.#travelling -= count;
    this.#settle(count, failure);
    this.#drain();
  }

  /** One warning per outage: the agent must not be slowed down or flooded by a sidecar that is away. */
  #settle(count: number, failure: string | null): void {
    if (failure === null) this.#delivered += count;
    else this.#dropped += count;
    const wasFailing = this.#isFailing;
    this.#isFailing = failure !== null;
    if (failure !== null && !wasFailing && !this.#closing.signal.aborted)
      this.#options.logger.warn('events do not arrive', { url: this.#endpoint.origin, reason: failure });
  }
}
