import { applyEvents, union } from '../../core/behavior/apply-events.ts';
import type { AuditEntry, UpstreamFailureKind } from '../../core/shapes/audit-entry.ts';
import type { Outcome } from '../../core/shapes/values.ts';
import type { EventBatch } from '../../core/shapes/events.ts';
import { behaviorVersionOf, isCurrent, type BehaviorVersion } from '../../core/behavior/behavior-version.ts';
import { parseBehaviorHeaders, reportsBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import { createUsageReader, type UsageHead, type UsageReader } from '../../core/usage/create-usage-reader.ts';
import type { RequestContent } from '../../core/usage/request-content.ts';
import type { DeclaredApi } from '../../core/usage/usage-scope.ts';
import { lateCallsOf } from '../../core/behavior/entry-usage.ts';
import type { ModelCall, RequestUsage } from '../../core/shapes/request-usage.ts';
import type { ParsedUsage } from '../../core/usage/usage.ts';
import { decodeBody } from '../usage/decode-body.ts';

/** The parts of the response head that are recorded. */
export interface ResponseFacts extends Pick<UsageHead, 'statusCode' | 'contentType' | 'contentEncoding'> {
  /** The product's own headers by lower-case name. */
  platform: ReadonlyMap<string, string>;
}

export interface RecordingOptions {
  entry: AuditEntry;
  /** Path without query. */
  path: string;
  declared: DeclaredApi;
  /** null: the request has no body. */
  request: RequestContent | null;
  startedAtMs: number;
  /** Reserves memory for buffered response bytes; false: no memory is available. */
  keepForUsage(bytes: number): boolean;
  /** Called when names or usage were added. */
  onDetails(entry: AuditEntry): void;
  /** Called at most once, with the usage read from the response. Returns the part that counts for this entry; null: none. */
  onUsage(entry: AuditEntry, read: ParsedUsage): RequestUsage | null;
  /** Called once, when the entry is complete. */
  onComplete(recording: Recording): void;
}

/**
 * Updates the entry of one request while the request is proxied. All data has been forwarded before it is recorded. No code
 * outside this file adds facts to an entry.
 */
export class Recording {
  readonly entry: AuditEntry;
  /** Position in the list of requests in flight. */
  indexInFlight = 0;
  readonly #options: RecordingOptions;
  #usage: UsageReader | null = null;
  #keptBytes = 0;
  #isReading = false;
  #isSent = false;
  #isComplete = false;
  #outcome: Outcome = 'notEvaluated';
  #atHead: BehaviorVersion = [];

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.entry = options.entry;
  }

  /** Counts request bytes. Bytes after the end of the response are ignored: only events change a complete entry. */
  bytesIn(count: number): void {
    if (!this.#isComplete) this.entry.bytesIn += count;
  }

  /** Counts and reads a part of the request body. Call it before the agent gets the part. */
  received(chunk: Buffer): void {
    this.bytesIn(chunk.length);
    const { request } = this.#options;
    if (request === null || this.#isComplete) return;
    request.write(chunk);
    if (request.heldBytes > 0) this.#keepRequest(request);
  }

  /** The request was, or may have been, sent to the agent. */
  sent(): void {
    this.#isSent = true;
  }

  /** The agent's response is missing or incomplete. */
  failed(kind: UpstreamFailureKind): void {
    this.entry.upstreamFailure = kind;
    if (kind === 'unreachable' && this.entry.retried !== true) this.#isSent = false;
  }

  retried(): void {
    this.entry.retried = true;
  }

  head(facts: ResponseFacts): void {
    this.entry.upstreamStatusCode = facts.statusCode;
    this.behavior(facts.platform);
    this.#atHead = behaviorVersionOf(this.entry);
    const { path, declared, request } = this.#options;
    const { method } = this.entry;
    this.#usage = createUsageReader({ ...facts, method, path, declared, request }, decodeBody);
  }

  chunk(chunk: Uint8Array): void {
    this.entry.bytesOut += chunk.byteLength;
    this.#read(chunk);
  }

  /** Reads response bytes that are not sent to the client, because their tokens were used anyway. */
  unsent(chunk: Uint8Array): void {
    this.#read(chunk);
  }

  /**
   * Records the policy decision on the response head. The decision replaces denials from earlier events. Denials from events
   * that arrived during the evaluation are kept as late denials.
   */
  judged({ outcome, denials }: { outcome: Outcome; denials: readonly string[] }): void {
    this.#outcome = outcome;
    if (outcome !== 'allow' && outcome !== 'deny') return;
    const entry = this.entry;
    const sinceHead = isCurrent(this.#atHead, entry) ? [] : (entry.policyViolations ?? []);
    // Conditional, because `delete` slows down every later access to an object, even for an absent property.
    if (entry.lateDenial) delete entry.lateDenial;
    if (entry.policyViolations) delete entry.policyViolations;
    if (denials.length > 0) entry.policyViolations = [...denials];
    if (sinceHead.length > 0) addLateDenials(entry, sinceHead);
  }

  /** The client receives the denial instead of the response. */
  blocked(): void {
    this.entry.blocked = true;
  }

  bytesOut(count: number): void {
    this.entry.bytesOut += count;
  }

  /** Adds the behavior that a head or trailers reported. */
  behavior(platform: ReadonlyMap<string, string>): void {
    if (platform.size === 0) return;
    const entry = this.entry;
    const { guardrailsInvoked, toolsCalled, userConfirmed } = parseBehaviorHeaders(platform);
    if (guardrailsInvoked) entry.guardrailsInvoked = withNames(entry.guardrailsInvoked, guardrailsInvoked);
    if (toolsCalled) entry.toolsCalled = withNames(entry.toolsCalled, toolsCalled);
    if (userConfirmed !== undefined) entry.userConfirmed = userConfirmed;
    if (entry.behaviorFrom !== undefined && reportsBehavior(platform)) delete entry.behaviorFrom;
    if (guardrailsInvoked?.length || toolsCalled?.length) this.#options.onDetails(entry);
  }

  /** Frees the buffered response bytes, because other responses need the memory. */
  forget(): void {
    // Ignored while this response itself requests memory.
    if (this.#keptBytes === 0 || this.#isReading) return;
    this.#options.request?.giveUp();
    this.#usage?.giveUp();
    this.#keep(0);
  }

  /** The response has ended. `statusCode`: the status sent to the client; absent if no head was sent. */
  complete(end: { statusCode?: number; aborted: boolean; atMs: number }): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    const entry = this.entry;
    if (end.statusCode !== undefined) entry.statusCode = end.statusCode;
    if (end.aborted) entry.aborted = true;
    if (!this.#isSent) entry.unsent = true;
    entry.durationMs = Math.round((end.atMs - this.#options.startedAtMs) * 10) / 10;
    const read = this.#usage?.end() ?? null;
    this.#usage = null;
    this.#keep(0);
    const usage = read === null ? null : this.#options.onUsage(entry, read);
    if (usage !== null) {
      entry.usage = usage;
      this.#options.onDetails(entry);
    }
    entry.outcome = this.#outcome;
    this.#options.onComplete(this);
  }

  #read(chunk: Uint8Array): void {
    const usage = this.#usage;
    if (!usage?.needsBody) return;
    usage.write(chunk);
    this.#isReading = true;
    const hasRoom = this.#keep(usage.keptBytes + (this.#options.request?.heldBytes ?? 0));
    this.#isReading = false;
    if (hasRoom) return;
    usage.giveUp();
    this.#keep(0);
  }

  #keepRequest(request: RequestContent): void {
    this.#isReading = true;
    const hasRoom = this.#keep(request.heldBytes + (this.#usage?.keptBytes ?? 0));
    this.#isReading = false;
    if (!hasRoom) request.giveUp();
  }

  #keep(bytes: number): boolean {
    if (bytes !== this.#keptBytes && !this.#options.keepForUsage(bytes - this.#keptBytes)) return false;
    this.#keptBytes = bytes;
    return true;
  }
}

/** Adds the distinct names of a header. */
function withNames(known: readonly string[] | undefined, added: readonly string[]): readonly string[] {
  return known === undefined ? added : union(known, added);
}

/** Adds events to an entry. Returns the model calls that the completion of the entry has not counted. */
export function addEvents(entry: AuditEntry, { events, agentName }: EventBatch): readonly ModelCall[] {
  const next = applyEvents(entry, events);
  const late = lateCallsOf(entry, next);
  Object.assign(entry, next);
  if (next.behaviorFrom === undefined && entry.behaviorFrom !== undefined) delete entry.behaviorFrom;
  if (agentName !== undefined) entry.agentName = agentName;
  return late;
}

/** Adds denials that came after the response head. Returns true if they are the first such denials of the entry. */
export function addLateDenials(entry: AuditEntry, denials: readonly string[]): boolean {
  const known = entry.policyViolations ?? [];
  const late = denials.filter((reason) => !known.includes(reason));
  if (late.length === 0) return false;
  const isFirst = entry.lateDenial === undefined;
  entry.policyViolations = [...known, ...late];
  entry.lateDenial = true;
  return isFirst;
}

/** Removes the mark that the usage is unknown, because a later response contained it. Returns false if there is no mark. */
export function removeUnknownUsage(entry: AuditEntry): boolean {
  if (entry.usage === undefined || !('unavailable' in entry.usage)) return false;
  delete entry.usage;
  return true;
}
