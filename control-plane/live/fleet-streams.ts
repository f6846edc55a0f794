import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { placeText } from '../../core/fleet/excerpt.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { EVENT_STREAM_HEADERS, EventStream, eventText } from '../../runtime/event-stream.ts';
import { listItemOf } from '../routes/agent-row.ts';
import { tryAgain } from '../try-again.ts';
import type { AgentRow, FleetEvent } from '../../core/shapes/agent-row.ts';
import type { FleetChanges } from '../stores/store.ts';
import { EventTexts, viewOf, type View } from './event-texts.ts';
import { POLL_MS, type FleetFeed } from './fleet-feed.ts';

/** Maximum number of concurrent streams. */
export const MAX_STREAMS = 100;
/** Maximum number of streams of one person or program, so that none takes the places of all others. Several people share a key. */
export const MAX_OF_CALLER = 20;
/** A stream with more unsent bytes than this at the next poll is cut. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Maximum number of agents in one event. */
const MAX_ROWS = 200;
/** A poll that takes long is followed by a pause of this many times its duration, so that polls never keep the store busy. */
const PAUSE_FACTOR = 4;

/** Who reads a stream, and its rights. */
export interface ReaderRights {
  /** The person or program; null: the holder of a key. */
  caller: string | null;
  /** The namespaces that it may read; null: every namespace. */
  namespaces: readonly string[] | null;
  /** The namespaces that it may read now. Rejects if its credential is not valid any more. */
  check: () => Promise<readonly string[] | null>;
}

interface Reader {
  stream: EventStream;
  view: View;
  check: ReaderRights['check'];
}

export interface FleetStreamsOptions {
  feed: FleetFeed;
  clock: Clock;
  /** Ends all streams. */
  signal: AbortSignal;
}

/**
 * The open streams of `GET /stream`. Each gets the events of the namespaces that its reader may read: a client first connects, and
 * reads the list after the event `ready`. One loop polls for all streams while at least one is open. A stream whose rights change
 * ends, because its client has agents that it must not see, or lacks agents that it may see.
 */
export class FleetStreams {
  readonly #options: FleetStreamsOptions;
  /** Number of open responses; also of those that wait for the first poll. */
  #open = 0;
  /** Their number by person or program. */
  readonly #callers = new Map<string, number>();
  readonly #readers = new Set<Reader>();
  /** The first poll; null: no stream is open. */
  #started: Promise<void> | null = null;
  /** Ends the poll loop. */
  #polling: AbortController | null = null;
  /** The digest of the last sent row of each agent. */
  readonly #sent = new Map<string, string>();
  /** Agents that the previous poll returned as removed. */
  #removed: ReadonlySet<string> = new Set();

  constructor(options: FleetStreamsOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => this.#endAll());
  }

  /** Throws a Problem if there are too many streams. */
  check(caller: string | null): void {
    if (this.#open >= MAX_STREAMS)
      throw tryAgain(`the limit of ${MAX_STREAMS} event streams is reached; try again`, 10);
    if (caller !== null && (this.#callers.get(caller) ?? 0) >= MAX_OF_CALLER)
      throw tryAgain(`the caller has ${MAX_OF_CALLER} event streams; try again`, 10, { status: 429 });
  }

  /**
   * Sends events until either side closes the connection. Rejects before the head if there are too many streams, or the store is
   * unavailable.
   */
  async connect(response: ServerResponse, { caller, namespaces, check }: ReaderRights): Promise<void> {
    const { clock, signal } = this.#options;
    // Its close event has passed.
    if (response.destroyed) return;
    // Here, and not before the rights were known: many requests can wait for them at the same time.
    this.check(caller);
    this.#count(caller, 1);
    response.once('close', () => this.#left(caller));
    this.#started ??= this.#start();
    await this.#started;
    if (response.destroyed) return;
    response.writeHead(200, EVENT_STREAM_HEADERS);
    const onClose = (): void => void this.#readers.delete(reader);
    const stream = new EventStream(response, { clock, onClose });
    const reader: Reader = { stream, view: viewOf(namespaces), check };
    this.#readers.add(reader);
    stream.write(eventText({ event: 'ready', data: {} }));
    if (signal.aborted) stream.end();
  }

  async #start(): Promise<void> {
    const { feed } = this.#options;
    const polling = new AbortController();
    this.#polling = polling;
    const unsubscribe = feed.subscribe((changes) => this.#send(changes));
    polling.signal.addEventListener('abort', unsubscribe, { once: true });
    await feed.refresh();
    // Stores return recent changes again. Those of this poll are not sent: clients read the list after it.
    await feed.poll();
    void this.#poll(polling.signal);
  }

  #count(caller: string | null, change: 1 | -1): void {
    this.#open += change;
    if (caller === null) return;
    const count = (this.#callers.get(caller) ?? 0) + change;
    if (count > 0) this.#callers.set(caller, count);
    else this.#callers.delete(caller);
  }

  #left(caller: string | null): void {
    this.#count(caller, -1);
    if (this.#open > 0) return;
    this.#polling?.abort();
    this.#polling = this.#started = null;
    this.#sent.clear();
    this.#removed = new Set();
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { feed, clock } = this.#options;
    let pauseMs = POLL_MS;
    while (await slept(clock, pauseMs, signal)) {
      const startedMs = clock.monotonicMs();
      // While the store is unavailable, clients keep their rows. The next complete poll returns all changes since the last one.
      await feed.poll().catch(() => undefined);
      for (const reader of this.#readers) void this.#checkRights(reader);
      pauseMs = Math.max(POLL_MS, PAUSE_FACTOR * (clock.monotonicMs() - startedMs));
    }
  }

  #send(changes: FleetChanges): void {
    if (changes.isAll) {
      // The clients may have agents that do not exist any more. They connect again and read the list.
      this.#endAll();
      return;
    }
    const changed = changes.changed.map(listItemOf).filter((row) => this.#isNew(row));
    const removed = this.#newlyRemoved(changes);
    if (this.#readers.size === 0) return;
    this.#cutSlow();
    for (let from = 0; from < changed.length || (from === 0 && removed.length > 0); from += MAX_ROWS)
      this.#broadcast({
        changed: changed.slice(from, from + MAX_ROWS),
        removed: from === 0 ? removed : [],
      });
  }

  /** Stores also return agents that did not change. */
  #isNew(row: AgentRow): boolean {
    const text = placeText(row);
    const digest = createHash('sha256').update(JSON.stringify(row)).digest('base64');
    if (this.#sent.get(text) === digest) return false;
    this.#sent.set(text, digest);
    return true;
  }

  /** The removed agents that the previous poll did not return. An agent that was added again is not removed. */
  #newlyRemoved({ changed, removed }: FleetChanges): FleetEvent['removed'] {
    const present = new Set(changed.map(({ namespace, name }) => placeText({ namespace, agentName: name })));
    const places = removed
      .map(({ namespace, name }) => ({ namespace, agentName: name }))
      .filter((place) => !present.has(placeText(place)));
    const before = this.#removed;
    this.#removed = new Set(places.map(placeText));
    for (const text of this.#removed) this.#sent.delete(text);
    return places.filter((place) => !before.has(placeText(place)));
  }

  /** Once per poll, not per event: a client gets the time between two polls for what it has not received. */
  #cutSlow(): void {
    for (const { stream } of this.#readers) if (stream.unsentBytes > MAX_UNSENT_BYTES) stream.cut();
  }

  #broadcast(data: FleetEvent): void {
    const texts = new EventTexts(data);
    for (const { stream, view } of this.#readers) {
      const bytes = stream.isOver ? null : texts.bytesFor(view);
      if (bytes !== null) stream.write(bytes);
    }
  }

  async #checkRights({ stream, view, check }: Reader): Promise<void> {
    const isSame = await check().then(
      (namespaces) => viewOf(namespaces).key === view.key,
      () => false,
    );
    // Its events are about what it could read until now.
    if (!isSame && !stream.isOver) stream.end();
  }

  #endAll(): void {
    for (const { stream } of this.#readers) stream.endNow();
  }
}
