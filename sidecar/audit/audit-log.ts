import { applyEvents } from '../../core/behavior/apply-events.ts';
import type {
  AuditEntry,
  BehavioralEvent,
  EventBatch,
  OutcomeCounts,
} from '../../core/behavior/audit-entry.ts';
import { hasBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import { sightingsIn } from '../../core/evidence/sightings.ts';
import {
  addToDay,
  emptyDay,
  totalsToday,
  type DayTotals,
  type TokenPrice,
} from '../../core/usage/day-totals.ts';
import { requestUsageOf } from '../../core/usage/answer-usage.ts';
import type { DeclaredApi } from '../../core/usage/create-usage-reader.ts';
import { CallMemory } from '../../core/usage/call-memory.ts';
import { callsIn, callsOf, callsWithoutUsageOf, lateCallsOf } from '../../core/usage/entry-usage.ts';
import { addCalls, emptyWindow, subtractWindow } from '../../core/usage/usage-window.ts';
import { cut, detached } from '../../core/untrusted/fields.ts';
import type { CallSum, ModelCall, ReadUsage, UsageTotals, UsageWindow } from '../../core/usage/usage.ts';
import type { Clock } from '../../runtime/clock.ts';
import { EventMemory } from './event-memory.ts';
import { Journal } from './journal.ts';
import { Recording } from './recording.ts';
import { AuditRing } from './ring.ts';
import { SeenTimes } from '../../core/evidence/seen-times.ts';

export interface Arrival {
  requestId: string;
  method: string;
  /** Path with its query string, where it has one. */
  target: string;
}

export interface AuditLogOptions {
  capacity: number;
  clock: Clock;
  /** Keep query strings in entries. */
  withQuery: boolean;
  /** Of the manifest, which may change. */
  declared: () => DeclaredApi;
  /** Counts bytes of responses that are kept until their token usage is read; false: there is no room for them. */
  keepForUsage: (bytes: number) => boolean;
  /** Bytes that the events and names of all entries may take. */
  maxEventBytes: number;
}

/** An entry's path is for reading; a target of 16 KiB in each of 100,000 entries would be 1.6 GB. */
const MAX_PATH = 2048;
/** A reader of a small ring must not miss what completes while it is away for a moment. */
const MIN_JOURNAL = 1000;

/** Everything that is known about the requests that passed: the ring, and the sums that outlive it. */
export class AuditLog {
  readonly ring: AuditRing;
  readonly journal: Journal;
  readonly eventMemory: EventMemory;
  /** What requests showed, and when. */
  readonly seen: SeenTimes;
  /** Since the start of the process. */
  readonly outcomes: OutcomeCounts = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 };
  readonly #options: AuditLogOptions;
  readonly #calls = new CallMemory();
  #tokens = { prompt: 0, completion: 0 };
  #withoutUsage = 0;
  #withoutRequest: CallSum = { totalTokens: 0, totalCalls: 0 };
  #withoutBehavior = 0;
  #day: DayTotals;
  #window: UsageWindow;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.ring = new AuditRing(options.capacity);
    this.journal = new Journal(Math.max(MIN_JOURNAL, options.capacity));
    this.eventMemory = new EventMemory(options.maxEventBytes);
    this.seen = new SeenTimes(() => options.clock.now());
    const now = options.clock.now();
    this.#day = emptyDay(now);
    this.#window = emptyWindow(now.toISOString());
  }

  /** Takes a request in at its arrival, so that an event that comes early finds it. */
  arrive({ requestId, method, target }: Arrival): Recording {
    const { clock, withQuery, declared, keepForUsage } = this.#options;
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    const recorded = cut(withQuery ? target : path, MAX_PATH);
    const entry = this.ring.insert({
      requestId,
      timestamp: clock.now().toISOString(),
      method,
      path: target.length > MAX_PATH ? detached(recorded) : recorded,
      bytesIn: 0,
      bytesOut: 0,
    });
    return new Recording({
      entry,
      path,
      declared: declared(),
      startedAtMs: clock.monotonicMs(),
      keepForUsage,
      onNames: this.#named,
      onUsage: this.#used,
      onComplete: this.#completed,
    });
  }

  /** Adds what the agent pushed about a request; null when the ring has no such entry, `full` when it has no room for them. */
  recordEvents(batch: EventBatch & { requestId: string }): AuditEntry | 'full' | null {
    const entry = this.ring.find(batch.requestId);
    if (entry === undefined) return null;
    if (!this.eventMemory.hasRoom(entry, batch.events)) return 'full';
    const next = applyEvents(entry, batch.events);
    const late = lateCallsOf(entry, next);
    Object.assign(entry, next);
    if (batch.agentName !== undefined) entry.agentName = batch.agentName;
    if (batch.events.length > 0) this.eventMemory.count(entry);
    if (hasBehavior(entry)) this.#withoutBehavior = 0;
    // The completion of a request in flight notes the entry whole.
    if (entry.outcome !== undefined) this.seen.note(sightingsIn(entry));
    this.#count(late);
    return entry;
  }

  /** Counts calls of the agent that belong to no request: they have no entry. */
  recordUsage(events: readonly BehavioralEvent[]): void {
    const calls = callsIn(events);
    this.#count(calls);
    this.seen.note(sightingsIn({ events: [...events] }));
    const { totalTokens, totalCalls } = this.#withoutRequest;
    this.#withoutRequest = {
      totalTokens: calls.reduce((sum, call) => sum + call.totalTokens, totalTokens),
      totalCalls: totalCalls + calls.length,
    };
  }

  /** Something has come to the entry after its answer. Until it is complete, that is told with its completion. */
  changed(entry: AuditEntry): void {
    if (entry.outcome !== undefined) this.journal.updated(entry);
  }

  /** Tokens counted since the start of the process. */
  get tokens(): { prompt: number; completion: number } {
    return { ...this.#tokens };
  }

  /** Models' answers that completed without anybody knowing their tokens, since the start of the process. */
  get answersWithoutUsage(): number {
    return this.#withoutUsage;
  }

  /** What `recordUsage` has counted since the start of the process. */
  get withoutRequest(): CallSum {
    return this.#withoutRequest;
  }

  /**
   * Requests in a row, up to the newest one, that could have behavior and reported none. A GET, HEAD or OPTIONS may be for a
   * page or a health endpoint, and does not count.
   */
  get requestsWithoutBehavior(): number {
    return this.#withoutBehavior;
  }

  totalsToday(price: TokenPrice | undefined): UsageTotals {
    return totalsToday(this.#day, this.#options.clock.now(), price);
  }

  /** What was used since the last window that arrived. */
  get window(): UsageWindow {
    return this.#window;
  }

  /** `window` has arrived at the control plane: only what came after it is still to be told. */
  windowArrived(window: UsageWindow): void {
    this.#window = subtractWindow(this.#window, window, this.#options.clock.now());
  }

  readonly #named = (entry: AuditEntry): void => this.eventMemory.count(entry);

  /** Takes what was read from an answer into its entry: each call once, in whichever answer its usage comes first. */
  readonly #used = (entry: AuditEntry, read: ReadUsage): void => {
    const fresh = this.#calls.take(read, entry);
    const usage = requestUsageOf(fresh.usage);
    if (usage !== null) {
      entry.usage = usage;
      this.eventMemory.count(entry);
    }
    for (const seq of fresh.completed) {
      const earlier = this.ring.at(seq);
      if (earlier?.usage === undefined || !('unavailable' in earlier.usage)) continue;
      delete earlier.usage;
      this.changed(earlier);
    }
  };

  readonly #completed = (entry: AuditEntry): void => {
    if (entry.outcome !== undefined) this.outcomes[entry.outcome] += 1;
    this.#withoutUsage += callsWithoutUsageOf(entry);
    this.#count(callsOf(entry));
    if (hasBehavior(entry)) this.#withoutBehavior = 0;
    else if (couldHaveBehavior(entry)) this.#withoutBehavior += 1;
    this.seen.note(sightingsIn(entry));
    this.journal.completed(entry);
    this.ring.complete(entry, this.journal.completions);
  };

  #count(calls: readonly ModelCall[]): void {
    if (calls.length === 0) return;
    this.#day = addToDay(this.#day, calls, this.#options.clock.now());
    this.#window = addCalls(this.#window, calls);
    for (const call of calls) {
      this.#tokens.prompt += call.promptTokens;
      this.#tokens.completion += call.completionTokens;
    }
  }
}

const WITHOUT_BEHAVIOR: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

function couldHaveBehavior({ method, upstreamStatusCode = 0 }: AuditEntry): boolean {
  return !WITHOUT_BEHAVIOR.includes(method) && upstreamStatusCode >= 200 && upstreamStatusCode < 300;
}
