import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { Identity } from '../../core/shapes/identity.ts';
import type { OutcomeCounts } from '../../core/shapes/outcomes.ts';
import type { BehavioralEvent, EventBatch } from '../../core/shapes/events.ts';
import { hasBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import { sightingsIn } from '../../core/facts/sightings.ts';
import {
  addToDay,
  emptyDay,
  totalsToday,
  type DayTotals,
  type TokenPrice,
} from '../../core/usage/day-totals.ts';
import { requestUsageOf } from '../../core/usage/response-usage.ts';
import type { RequestContent } from '../../core/usage/request-content.ts';
import type { DeclaredApi } from '../../core/usage/usage-scope.ts';
import { CallMemory } from '../../core/usage/call-memory.ts';
import {
  callsAtCompletion,
  callsIn,
  callsOfLane,
  callsWithoutUsageAtCompletion,
} from '../../core/behavior/entry-usage.ts';
import { addLaneCall, type FinishedLaneCall } from '../../core/behavior/lane-calls.ts';
import { addCalls, emptyWindow, subtractWindow } from '../../core/usage/usage-window.ts';
import { cut, detached } from '../../core/untrusted/fields.ts';
import type { CallSum } from '../../core/shapes/sidecar-reports.ts';
import type { ModelCall } from '../../core/shapes/request-usage.ts';
import type { UsageTotals, UsageWindow } from '../../core/shapes/usage.ts';
import type { Clock } from '../../runtime/clock.ts';
import { EventMemory } from './event-memory.ts';
import { Journal } from './journal.ts';
import { LaneTokens } from './lane-tokens.ts';
import {
  addEvents,
  addLateDenials,
  Recording,
  removeUnknownUsage,
  type RecordingOptions,
} from './recording.ts';
import { AuditRing } from './ring.ts';
import { SeenTimes } from '../../core/evidence/seen-times.ts';

export interface Arrival {
  requestId: string;
  method: string;
  /** Path with its query string, if any. */
  target: string;
  /** Monotonic time of the arrival; default: now. */
  atMs?: number;
  /** The body of the request, for the recording; absent: it has none. */
  content?: RequestContent | undefined;
}

export interface AuditLogOptions {
  capacity: number;
  clock: Clock;
  /** Record query strings in entries. */
  withQuery: boolean;
  /** The declared API of the manifest in force. */
  declared: () => DeclaredApi;
  /** Reserves memory for response bytes that are buffered to read their token usage; false: no memory is available. */
  keepForUsage: (bytes: number) => boolean;
  /** Maximum bytes for the events and names of all entries. */
  maxEventBytes: number;
}

/** The recorded path is truncated: targets of 16 KiB in 100,000 entries would occupy 1.6 GB. */
const MAX_PATH = 2048;
/** With a small ring, a stream reader must not miss entries that complete while it is briefly disconnected. */
const MIN_JOURNAL = 1000;
/** Rules of an external engine may return any text. */
const MAX_DENIALS = 50;
const MAX_DENIAL_TEXT = 128;

/** Records proxied requests: the entries in the ring, and totals since the start of the process. */
export class AuditLog {
  readonly ring: AuditRing;
  readonly journal: Journal;
  readonly eventMemory: EventMemory;
  /** The evidence that requests provided, with its time. */
  readonly seen: SeenTimes;
  /** Since the start of the process. */
  readonly outcomes: OutcomeCounts = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 };
  /** Requests since the start that were denied because of events or trailers. */
  lateDenials = 0;
  /** Tokens counted since the start of the process. */
  readonly tokens = { prompt: 0, completion: 0 };
  /** Model responses whose token usage is unknown, since the start of the process. */
  responsesWithoutUsage = 0;
  /** Calls that `recordUsage` has counted since the start of the process. */
  withoutRequest: CallSum = { totalTokens: 0, totalCalls: 0 };
  /** Calls of lanes whose usage and request are unknown, since the start of the process. */
  unknownWithoutRequest = 0;
  /**
   * Consecutive newest requests that could have reported behavior and did not. A GET, HEAD or OPTIONS does not count, since
   * it may be for a page or a health endpoint.
   */
  requestsWithoutBehavior = 0;
  /** Usage since the last window that the control plane received. */
  window: UsageWindow;
  /** The `model` events of the agent since the start of the process. */
  reported: UsageWindow;
  /** The model calls, also of spans, that the agent reported without a request since the start of the process. */
  reportedAlone: UsageWindow;
  readonly #options: AuditLogOptions;
  readonly #calls = new CallMemory();
  /** In no order. Not a Set: V8 allocates the table of an old Set again after some additions, in the old generation. */
  readonly #inFlight: Recording[] = [];
  readonly #laneTokens: LaneTokens;
  /** Distinct reasons of denials on the proxy and on the lanes that no heartbeat contains yet. */
  readonly #denials = new Set<string>();
  #lastTaken: readonly string[] = [];
  /** The last time of an arrival, in epoch milliseconds and as text. */
  #arrival = { ms: NaN, text: '' };
  #day: DayTotals;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.ring = new AuditRing(options.capacity);
    this.journal = new Journal(Math.max(MIN_JOURNAL, options.capacity));
    this.eventMemory = new EventMemory(options.maxEventBytes);
    this.seen = new SeenTimes(() => options.clock.now());
    this.#laneTokens = new LaneTokens(options.clock);
    const now = options.clock.now();
    this.#day = emptyDay(now);
    this.window = emptyWindow(now.toISOString());
    this.reported = this.window;
    this.reportedAlone = this.window;
  }

  /** Creates the entry when the request arrives, so that early events find it. */
  arrive({ requestId, method, target, atMs, content }: Arrival): Recording {
    const { clock, withQuery, declared, keepForUsage } = this.#options;
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    const recorded = cut(withQuery ? target : path, MAX_PATH);
    const entry = this.ring.insert({
      requestId,
      timestamp: this.#timestamp(),
      method,
      path: target.length > MAX_PATH ? detached(recorded) : recorded,
      bytesIn: 0,
      bytesOut: 0,
    });
    const recording = new Recording({
      entry,
      path,
      declared: declared(),
      request: content ?? null,
      startedAtMs: atMs ?? clock.monotonicMs(),
      keepForUsage,
      onDetails: this.#counted,
      onUsage: this.#used,
      onComplete: this.#completed,
    });
    recording.indexInFlight = this.#inFlight.push(recording) - 1;
    return recording;
  }

  /** Under load several requests arrive in one millisecond, and their entries share one text. */
  #timestamp(): string {
    const now = this.#options.clock.now();
    const ms = now.getTime();
    if (ms !== this.#arrival.ms) this.#arrival = { ms, text: now.toISOString() };
    return this.#arrival.text;
  }

  /** Adds the agent's events to a request's entry. null: no such entry; `full`: the entry has no room for the events. */
  recordEvents(batch: EventBatch & { requestId: string }): AuditEntry | 'full' | null {
    const entry = this.ring.find(batch.requestId);
    if (entry === undefined) return null;
    if (!this.eventMemory.hasRoom(entry, batch.events)) return 'full';
    this.#countReported(batch.events);
    const late = addEvents(entry, batch);
    if (batch.events.length > 0) this.eventMemory.count(entry);
    if (hasBehavior(entry)) this.requestsWithoutBehavior = 0;
    // A request in flight is noted when it completes.
    if (entry.outcome !== undefined) this.seen.note(sightingsIn(entry));
    this.#count(this.#report(late));
    return entry;
  }

  /** Counts model calls that belong to no request and therefore have no entry. */
  recordUsage(events: readonly BehavioralEvent[]): void {
    this.seen.note(sightingsIn({ events: [...events] }));
    this.#countReported(events);
    this.reportedAlone = addCalls(this.reportedAlone, callsIn(events));
    this.#countWithoutRequest(this.#report(callsIn(events)));
  }

  /**
   * The request during which the agent acts now: the only one in flight, apart from requests for pages and health. null: there
   * is none, or more than one.
   */
  get onlyInFlight(): AuditEntry | null {
    const acting = this.#inFlight.filter(({ entry }) => !WITHOUT_BEHAVIOR.includes(entry.method));
    const [only, ...others] = acting.length > 0 ? acting : this.#inFlight;
    return only === undefined || others.length > 0 ? null : only.entry;
  }

  /** Counts a finished call through an egress lane. `entry` null: the request of the call is not known. */
  recordLaneCall(entry: AuditEntry | null, call: FinishedLaneCall): void {
    const { usage } = call;
    if (call.isUsageUnknown) this.responsesWithoutUsage += 1;
    if (call.isUsageUnknown && entry === null) this.unknownWithoutRequest += 1;
    if (entry !== null) {
      const before = { ...entry };
      addLaneCall(entry, call);
      if (usage !== null) this.#count(callsOfLane(before, entry, usage));
      this.#changed(entry);
    } else if (usage !== null) {
      this.#laneTokens.add(usage);
      this.#countWithoutRequest([usage]);
    }
  }

  /** Records an evaluation after the response head. Call it after each change by events or trailers. */
  reviewed(entry: AuditEntry, denials: readonly string[]): void {
    this.denied(denials.filter((reason) => entry.policyViolations?.includes(reason) !== true));
    if (addLateDenials(entry, denials)) this.lateDenials += 1;
    this.#changed(entry);
  }

  /**
   * The identity of one or more entries is not `pending` any more. Their object has changed already, so that readers of the journal
   * need not wait for the update of this method.
   */
  identified(identity: Identity): void {
    for (const entry of this.ring.newest()) if (entry.identity === identity) this.#changed(entry);
  }

  /** Counts the reasons of a denial, blocked or tracked. */
  denied(reasons: readonly string[]): void {
    for (const reason of reasons)
      if (this.#denials.size < MAX_DENIALS) this.#denials.add(cut(reason, MAX_DENIAL_TEXT));
  }

  /** The distinct reasons since the last call. */
  takeDenials(): string[] {
    const taken = [...this.#denials];
    this.#denials.clear();
    this.#lastTaken = taken;
    return taken;
  }

  /** The denial reasons that the last heartbeat contains and those since then; without heartbeats: since the start. */
  get recentDenials(): string[] {
    return [...new Set([...this.#lastTaken, ...this.#denials])];
  }

  totalsToday(price: TokenPrice | undefined): UsageTotals {
    return totalsToday(this.#day, this.#options.clock.now(), price);
  }

  /** Removes `window`, which the control plane has received, from the current window. */
  windowArrived(window: UsageWindow): void {
    this.window = subtractWindow(this.window, window, this.#options.clock.now());
  }

  readonly #counted = (entry: AuditEntry): void => this.eventMemory.count(entry);

  /** The usage of a response that counts for its entry. Each call counts once, in the response that contains its usage first. */
  readonly #used: RecordingOptions['onUsage'] = (entry, read) => {
    const fresh = this.#calls.record(read, entry);
    for (const seq of fresh.completed) {
      const earlier = this.ring.at(seq);
      if (earlier !== undefined && removeUnknownUsage(earlier)) this.#changed(earlier);
    }
    return requestUsageOf(fresh.usage);
  };

  /** Reports a change to a complete entry; an incomplete entry is reported when it completes. */
  #changed(entry: AuditEntry): void {
    if (entry.outcome !== undefined) this.journal.updated(entry);
  }

  readonly #completed = (recording: Recording): void => {
    const { entry } = recording;
    if (entry.outcome !== undefined) this.outcomes[entry.outcome] += 1;
    if (entry.outcome === 'deny') this.denied(entry.policyViolations ?? []);
    this.responsesWithoutUsage += callsWithoutUsageAtCompletion(entry);
    this.#removeInFlight(recording);
    this.#count(this.#report(callsAtCompletion(entry)));
    if (hasBehavior(entry)) this.requestsWithoutBehavior = 0;
    else if (couldHaveBehavior(entry)) this.requestsWithoutBehavior += 1;
    this.seen.note(sightingsIn(entry));
    this.journal.completed(entry);
    this.ring.complete(entry, this.journal.completions);
  };

  /** Removes a completed request; the last one of the list takes its place. */
  #removeInFlight({ indexInFlight }: Recording): void {
    const last = this.#inFlight.pop();
    if (last === undefined || indexInFlight === this.#inFlight.length) return;
    this.#inFlight[indexInFlight] = last;
    last.indexInFlight = indexInFlight;
  }

  /** The reported calls that lanes have not already counted without their request. */
  #report(calls: readonly ModelCall[]): readonly ModelCall[] {
    return this.#laneTokens.notCounted(calls);
  }

  /** Spans of the same calls are not added. */
  #countReported(events: readonly BehavioralEvent[]): void {
    this.reported = addCalls(this.reported, callsIn(events.filter(({ source }) => source === undefined)));
  }

  #countWithoutRequest(calls: readonly ModelCall[]): void {
    this.#count(calls);
    const { totalTokens, totalCalls } = this.withoutRequest;
    this.withoutRequest = {
      totalTokens: calls.reduce((sum, call) => sum + call.totalTokens, totalTokens),
      totalCalls: totalCalls + calls.length,
    };
  }

  #count(calls: readonly ModelCall[]): void {
    if (calls.length === 0) return;
    this.#day = addToDay(this.#day, calls, this.#options.clock.now());
    this.window = addCalls(this.window, calls);
    for (const call of calls) {
      this.tokens.prompt += call.promptTokens;
      this.tokens.completion += call.completionTokens;
    }
  }
}

const WITHOUT_BEHAVIOR: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

function couldHaveBehavior({ method, upstreamStatusCode = 0 }: AuditEntry): boolean {
  return !WITHOUT_BEHAVIOR.includes(method) && upstreamStatusCode >= 200 && upstreamStatusCode < 300;
}
