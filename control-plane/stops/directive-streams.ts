import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { stopDirectiveOf, type AgentStop } from '../../core/organisation/stops.ts';
import type { Directives } from '../../core/shapes/directive.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { EVENT_STREAM_HEADERS, EventStream, eventText } from '../../runtime/event-stream.ts';
import type { Caller } from '../auth/caller.ts';
import type { Organisation } from '../organisation/organisation.ts';
import type { AgentKey } from '../stores/store.ts';
import { tryAgain } from '../try-again.ts';
import type { Stops } from './stops.ts';

/** Maximum number of concurrent streams. */
export const MAX_DIRECTIVE_STREAMS = 10_000;
/** Maximum number of streams of one pod, whose earlier connections may be dead without a sign of it, and of one registered agent. */
export const MAX_OF_SENDER = { pod: 8, registered: 200 };
/** A stream with more unsent bytes than this is cut when something is sent. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** A stream ends after this time, in milliseconds, so that its credential is checked again. Varied by 10 %. */
const LIFE_MS = 3_600_000;
/** How often the ends of stops and streams are checked, in milliseconds. */
const TICK_MS = 1_000;
/** Agents whose rules are computed without a pause. */
const SLICE = 100;

export interface DirectiveStreamsOptions {
  stops: Stops;
  organisation: Organisation;
  clock: Clock;
  /** Ends all streams. */
  stopping: AbortSignal;
}

export interface Subscriber {
  caller: Caller;
  /** null: the sender has no manifest. */
  manifestHash: string | null;
}

interface Open {
  stream: EventStream;
  sender: string;
  endsAtMs: number;
}

/** The streams that receive the same events. */
interface Group {
  key: AgentKey;
  manifestHash: string | null;
  streams: Set<Open>;
  /** The stop that was sent last. */
  stop: string;
  /** Revision of the rules that were sent last; null: none. */
  rules: string | null;
}

/**
 * The open streams of `GET /directives`. The first event has the whole state. A stop is the same text for all agents that it
 * stops, so it is written once for a fleet.
 */
export class DirectiveStreams {
  readonly #options: DirectiveStreamsOptions;
  readonly #groups = new Map<string, Group>();
  /** Number of streams by sender. */
  readonly #senders = new Map<string, number>();
  #size = 0;
  /** Ends the loop; null: no stream is open. */
  #running: AbortController | null = null;
  #nextEndMs = Infinity;
  #haveRulesChanged = false;
  #isScheduled = false;

  constructor(options: DirectiveStreamsOptions) {
    this.#options = options;
    options.stopping.addEventListener('abort', () => this.#endAll());
    options.stops.onChange(() => this.#schedule());
    options.organisation.onChange(() => (this.#haveRulesChanged = true));
  }

  get size(): number {
    return this.#size;
  }

  /** Throws a Problem if there are too many streams, or the stops are not known. */
  check(caller: Caller): void {
    const { stops, clock } = this.#options;
    if (this.#size >= MAX_DIRECTIVE_STREAMS)
      throw tryAgain(`the limit of ${MAX_DIRECTIVE_STREAMS} streams is reached; try again`, 30);
    const max = MAX_OF_SENDER[caller.kind];
    if ((this.#senders.get(senderOf(caller)) ?? 0) >= max)
      throw tryAgain(`the sender has ${max} streams; try again`, 30, { status: 429 });
    if (stops.of(caller.key, clock.now()) === undefined)
      throw tryAgain('the stops are not known yet; try again', 2);
  }

  /** Sends events until either side closes the connection. Throws a Problem before the head. */
  connect(response: ServerResponse, { caller, manifestHash }: Subscriber): void {
    // Its close event has passed.
    if (response.destroyed) return;
    this.check(caller);
    const { clock, stopping } = this.#options;
    const { namespace, name } = caller.key;
    const id = `${namespace}/${name}/${manifestHash ?? ''}`;
    const group = this.#groups.get(id) ?? this.#newGroup({ namespace, name }, manifestHash);
    this.#groups.set(id, group);
    response.writeHead(200, EVENT_STREAM_HEADERS);
    const onClose = (): void => this.#left(id, group, open);
    const open: Open = {
      stream: new EventStream(response, { clock, onClose }),
      sender: senderOf(caller),
      endsAtMs: clock.monotonicMs() + LIFE_MS * (0.9 + Math.random() / 5),
    };
    this.#size += 1;
    this.#senders.set(open.sender, (this.#senders.get(open.sender) ?? 0) + 1);
    group.streams.add(open);
    open.stream.write(bytesOf(this.#stateOf(group)));
    if (stopping.aborted) open.stream.end();
    this.#start();
  }

  #newGroup(key: AgentKey, manifestHash: string | null): Group {
    const group = { key, manifestHash, streams: new Set<Open>(), stop: '', rules: null };
    const { stop, organisation } = this.#stateOf(group);
    return { ...group, stop: JSON.stringify(stop), rules: organisation?.revision ?? null };
  }

  #left(id: string, group: Group, open: Open): void {
    group.streams.delete(open);
    if (group.streams.size === 0 && this.#groups.get(id) === group) this.#groups.delete(id);
    this.#size -= 1;
    const others = (this.#senders.get(open.sender) ?? 1) - 1;
    if (others > 0) this.#senders.set(open.sender, others);
    else this.#senders.delete(open.sender);
    if (this.#size > 0) return;
    this.#running?.abort();
    this.#running = null;
  }

  #start(): void {
    if (this.#running !== null || this.#size === 0) return;
    this.#running = new AbortController();
    this.#schedule();
    void this.#run(this.#running.signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (await slept(clock, TICK_MS, signal)) {
      const nowMs = clock.monotonicMs();
      for (const { streams } of this.#groups.values())
        for (const { endsAtMs, stream } of streams) if (endsAtMs <= nowMs) stream.end();
      if (clock.now().getTime() >= this.#nextEndMs) this.#sendStops();
      if (this.#haveRulesChanged) await this.#sendRules(signal);
    }
  }

  /** Several changes at once are sent together. */
  #schedule(): void {
    if (this.#isScheduled || this.#size === 0) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#sendStops();
    });
  }

  /** The rules are not sent with it: the last reply to a heartbeat may have had newer ones. */
  #sendStops(): void {
    const { stops, clock } = this.#options;
    const at = clock.now();
    this.#nextEndMs = stops.nextEndMs(at);
    const texts = new Map<AgentStop | null, { text: string; bytes: Buffer }>();
    for (const group of this.#groups.values()) {
      const stop = stops.of(group.key, at);
      if (stop === undefined) continue;
      const sent = texts.get(stop) ?? textsOf(stop);
      texts.set(stop, sent);
      if (group.stop === sent.text) continue;
      group.stop = sent.text;
      send(group, sent.bytes);
    }
  }

  async #sendRules(signal: AbortSignal): Promise<void> {
    this.#haveRulesChanged = false;
    let count = 0;
    for (const group of this.#groups.values()) {
      if (++count % SLICE === 0) await setImmediate();
      if (signal.aborted) return;
      const state = this.#stateOf(group);
      const revision = state.organisation?.revision ?? null;
      if (revision === null || revision === group.rules) continue;
      group.rules = revision;
      group.stop = JSON.stringify(state.stop);
      send(group, bytesOf(state));
    }
  }

  /** What is known of an agent. Its stop is known since `check`. */
  #stateOf({ key, manifestHash }: Group): Omit<Directives, 'revision'> {
    const { stops, organisation, clock } = this.#options;
    const at = clock.now();
    const stop = stops.of(key, at) ?? null;
    const { directive } = organisation.rulesOf(key, manifestHash ?? undefined, at);
    return {
      stop: stop === null ? null : stopDirectiveOf(stop),
      ...(directive !== null && { organisation: directive }),
    };
  }

  #endAll(): void {
    for (const { streams } of this.#groups.values()) for (const { stream } of streams) stream.endNow();
  }
}

/** A registered agent has one key for all its instances. */
const senderOf = (caller: Caller): string =>
  caller.kind === 'pod' ? `pod ${caller.uid}` : `agent ${caller.agentId}`;

function textsOf(stop: AgentStop | null): { text: string; bytes: Buffer } {
  const directive = stop === null ? null : stopDirectiveOf(stop);
  return { text: JSON.stringify(directive), bytes: bytesOf({ stop: directive }) };
}

function bytesOf(state: Omit<Directives, 'revision'>): Buffer {
  const revision = createHash('sha256').update(JSON.stringify(state)).digest('hex').slice(0, 16);
  const data: Directives = { revision, ...state };
  return Buffer.from(eventText({ event: 'directives', data }));
}

/** All streams share the bytes, also while they are unsent. */
function send({ streams }: Group, bytes: Buffer): void {
  for (const { stream } of streams)
    if (stream.unsentBytes > MAX_UNSENT_BYTES) stream.cut();
    else if (!stream.isOver) stream.write(bytes);
}
