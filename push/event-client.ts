import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { BehavioralEvent } from '../core/shapes/events.ts';
import { EVENT_BATCH_LIMITS, parseEventBatch } from '../core/shapes/events.ts';
import { describeError } from '../core/untrusted/describe-error.ts';
import type { PushLogger } from './clock.ts';
import { postJson } from './post-json.ts';
import { urlBelow } from './push-heartbeat.ts';

export interface EventClientOptions {
  /** The URL of the sidecar's control port, such as `http://127.0.0.1:4001`; a path in the URL is kept. */
  url: URL;
  /** Recorded with each batch. */
  agentName?: string;
  logger: PushLogger;
  /** Milliseconds for one batch; default 2000. */
  timeoutMs?: number;
  /** Maximum number of waiting events; further events are dropped. Default 1000. */
  maxQueued?: number;
}

/** Totals since the client was created. */
export interface EventCounts {
  /** Accepted by the sidecar, even if it no longer has the request. */
  delivered: number;
  /** Invalid, over the queue limit, or not accepted by the sidecar. */
  dropped: number;
  /** Waiting or in flight. */
  queued: number;
}

const TIMEOUT_MS = 2_000;
const MAX_QUEUED = 1_000;
const FLUSH_MS = 1_000;
const MAX_IN_FLIGHT = 4;

/** An event as JSON, and whether it counts without its request. */
interface Queued {
  text: string;
  isUsage: boolean;
}

/** Events by request id, in the order of the requests; null: events without a request. */
type Queue = Map<string | null, Queued[]>;

interface Batch {
  body: string;
  count: number;
  /** The events that are sent again if the sidecar does not have the request. */
  usage: readonly Queued[];
}

/**
 * Sends behavioral events to the sidecar's `POST /events`. Events are sent once, without waiting and without retries. The
 * exception: `model` events of a request that the sidecar does not have are sent again without the request id, so that their
 * tokens are counted.
 */
export class EventSender {
  readonly #options: EventClientOptions;
  readonly #endpoint: URL;
  readonly #agent: HttpAgent;
  readonly #closing = new AbortController();
  readonly #queue: Queue = new Map();
  readonly #idle = new Set<() => void>();
  #waiting = 0;
  #sent = 0;
  #inFlight = 0;
  #delivered = 0;
  #dropped = 0;
  #isScheduled = false;
  #isFailing = false;
  /** Statuses below 500 that were already logged; the server may be an older sidecar or not a sidecar. */
  readonly #loggedStatuses = new Set<number>();
  #hasLoggedInvalid = false;

  constructor(options: EventClientOptions) {
    const keeping = { keepAlive: true, maxSockets: MAX_IN_FLIGHT };
    this.#options = options;
    this.#endpoint = urlBelow(options.url, '/events');
    this.#agent = options.url.protocol === 'https:' ? new HttpsAgent(keeping) : new HttpAgent(keeping);
  }

  counts(): EventCounts {
    return { delivered: this.#delivered, dropped: this.#dropped, queued: this.#waiting + this.#sent };
  }

  /**
   * Sends the events of the request with this id (`x-request-id` from the sidecar); null: `model` events without a request.
   * Returns immediately; false: the events are dropped. Never throws and does not keep the process alive.
   */
  send(requestId: string | null, events: readonly BehavioralEvent[]): boolean {
    const valid = this.#validated(requestId, events);
    if (valid === null || !this.#enqueue(requestId, valid)) return false;
    this.#schedule();
    return true;
  }

  /** false: the events are dropped. */
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

  /** Resolves when no event is queued, or after `timeoutMs` (default 1000). Keeps the process alive until then. */
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

  /** Flushes, then drops the remaining events and every later event. */
  async close(timeoutMs = FLUSH_MS): Promise<void> {
    await this.flush(timeoutMs);
    this.#closing.abort();
    this.#dropped += this.#waiting;
    this.#waiting = 0;
    this.#queue.clear();
    this.#agent.destroy();
  }

  /** Validates the events with the sidecar's own parser, so that an invalid event does not fail a whole batch; null: invalid. */
  #validated(requestId: string | null, events: readonly BehavioralEvent[]): Queued[] | null {
    let count = 0;
    let reason: unknown;
    try {
      count = events.length;
      const valid: Queued[] = [];
      for (let from = 0; from < count || from === 0; from += EVENT_BATCH_LIMITS.events) {
        const part = events.slice(from, from + EVENT_BATCH_LIMITS.events);
        // A missing request id must not count as null.
        const parsed = parseEventBatch({ requestId: requestId === undefined ? '' : requestId, events: part });
        if (!parsed.ok)
          throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '));
        for (const event of parsed.value.events)
          valid.push({ text: JSON.stringify(event), isUsage: event.type === 'model' });
      }
      return valid;
    } catch (error) {
      reason = error;
    }
    this.#dropped += Math.max(count, 1);
    if (!this.#hasLoggedInvalid)
      this.#options.logger.warn('invalid events dropped', { reason: describeError(reason) });
    this.#hasLoggedInvalid = true;
    return null;
  }

  /** Delayed, so that all events of a request from one turn of the event loop go into one batch. */
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
    this.#sent += count;
    const response = await postJson({
      url: this.#endpoint,
      body,
      timeoutMs,
      signal: this.#closing.signal,
      agent: this.#agent,
      isBackground: true,
    }).then(({ status }) => status, describeError);
    this.#inFlight -= 1;
    this.#sent -= count;
    const again = response === 202 ? usage : [];
    this.#settle(count - again.length, response);
    this.#enqueue(null, again);
    this.#drain();
  }

  /** Logs one warning per outage and per status: an unavailable sidecar must not flood the agent's log. */
  #settle(count: number, response: number | string): void {
    if (response === 200 || response === 202) {
      this.#delivered += count;
      this.#isFailing = false;
      return;
    }
    this.#dropped += count;
    const isRejected = typeof response === 'number' && response < 500;
    const isKnown = isRejected ? this.#loggedStatuses.has(response) : this.#isFailing;
    if (isRejected) this.#loggedStatuses.add(response);
    else this.#isFailing = true;
    const reason = typeof response === 'number' ? `status ${response}` : response;
    if (!isKnown && !this.#closing.signal.aborted)
      this.#options.logger.warn('failed to deliver events, events dropped', {
        url: this.#endpoint.origin,
        reason,
      });
  }
}

/** The public part of an `EventSender`, which any object can implement. */
export type EventClient = Pick<EventSender, keyof EventSender>;
