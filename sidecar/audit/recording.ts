import type { AuditEntry, Behavior, Outcome, UpstreamFailureKind } from '../../core/behavior/audit-entry.ts';
import { behaviorVersionOf, isCurrent, type BehaviorVersion } from '../../core/behavior/behavior-version.ts';
import { parseBehaviorHeaders } from '../../core/behavior/parse-behavior-headers.ts';
import {
  createUsageReader,
  type DeclaredApi,
  type UsageReader,
} from '../../core/usage/create-usage-reader.ts';
import type { ReadUsage } from '../../core/usage/usage.ts';
import { decodeBody } from '../usage/decode-body.ts';

/** The head of the agent's answer, as far as the record needs it. */
export interface AnswerFacts {
  statusCode: number;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  /** The product's own headers by lower-case name. */
  platform: ReadonlyMap<string, string>;
}

export interface RecordingOptions {
  entry: AuditEntry;
  /** Path without query. */
  path: string;
  declared: DeclaredApi;
  startedAtMs: number;
  /** Counts bytes that are kept of responses; false: there is no room for them. */
  keepForUsage(bytes: number): boolean;
  /** Called when a head or trailers brought names. */
  onNames(entry: AuditEntry): void;
  /** Called at most once, before the entry is complete, with what was read from the answer. */
  onUsage(entry: AuditEntry, read: ReadUsage): void;
  /** Called once, with the completed entry. */
  onComplete(entry: AuditEntry): void;
}

/** Writes one request's entry while the request passes; what it is given has already gone on. */
export class Recording {
  readonly #options: RecordingOptions;
  readonly #entry: AuditEntry;
  #usage: UsageReader | null = null;
  #keptBytes = 0;
  #isReading = false;
  #isSent = false;
  #isComplete = false;
  #outcome: Outcome = 'notEvaluated';
  #atHead: BehaviorVersion = [];

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.#entry = options.entry;
  }

  get entry(): AuditEntry {
    return this.#entry;
  }

  /** What comes after the answer has closed is not told: a complete entry changes by events alone. */
  bytesIn(count: number): void {
    if (!this.#isComplete) this.#entry.bytesIn += count;
  }

  /** A connection to the agent was given the request, or may have been. */
  sent(): void {
    this.#isSent = true;
  }

  /** The agent gave no answer, or no whole one. */
  failed(kind: UpstreamFailureKind): void {
    this.#entry.upstreamFailure = kind;
    if (kind === 'unreachable' && this.#entry.retried !== true) this.#isSent = false;
  }

  retried(): void {
    this.#entry.retried = true;
  }

  head(facts: AnswerFacts): void {
    this.#entry.upstreamStatusCode = facts.statusCode;
    this.#behavior(facts.platform);
    this.#atHead = behaviorVersionOf(this.#entry);
    const { statusCode, contentType, contentEncoding } = facts;
    const { path, declared } = this.#options;
    const { method } = this.#entry;
    const answer = { statusCode, method, contentType, contentEncoding, path, declared };
    this.#usage = createUsageReader(answer, decodeBody);
  }

  chunk(chunk: Uint8Array): void {
    this.#entry.bytesOut += chunk.byteLength;
    this.#read(chunk);
  }

  /** Bytes of the answer that nobody gets; its tokens were used all the same. */
  unsent(chunk: Uint8Array): void {
    this.#read(chunk);
  }

  /**
   * What the policy engine said to the response head: it knows more than whatever an event said before, and less than
   * one that came while the engine was asked.
   */
  judged({ outcome, denials }: { outcome: Outcome; denials: readonly string[] }): void {
    this.#outcome = outcome;
    if (outcome !== 'allow' && outcome !== 'deny') return;
    const entry = this.#entry;
    const told = isCurrent(this.#atHead, entry) ? [] : (entry.policyViolations ?? []);
    const late = told.filter((reason) => !denials.includes(reason));
    // A delete makes every later use of an object slower, even where there is nothing to delete.
    if (entry.lateDenial) delete entry.lateDenial;
    if (entry.policyViolations) delete entry.policyViolations;
    if (denials.length + late.length > 0) entry.policyViolations = [...denials, ...late];
    if (late.length > 0) entry.lateDenial = true;
  }

  /** The client gets the denial in the answer's place. */
  blocked(): void {
    this.#entry.blocked = true;
  }

  bytesOut(count: number): void {
    this.#entry.bytesOut += count;
  }

  trailers(platform: ReadonlyMap<string, string>): void {
    this.#behavior(platform);
  }

  /** Others need the memory of what is kept of the response. */
  forget(): void {
    // A response whose own bytes need it is not the one that gives way.
    if (this.#keptBytes === 0 || this.#isReading) return;
    this.#usage?.giveUp();
    this.#keep(0);
  }

  /** The response has closed. `statusCode` is what the client got; absent when it got no head. */
  complete(end: { statusCode?: number; aborted: boolean; atMs: number }): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    const entry = this.#entry;
    if (end.statusCode !== undefined) entry.statusCode = end.statusCode;
    if (end.aborted) entry.aborted = true;
    if (!this.#isSent) entry.unsent = true;
    entry.durationMs = Math.round((end.atMs - this.#options.startedAtMs) * 10) / 10;
    const usage = this.#usage?.end() ?? null;
    this.#usage = null;
    this.#keep(0);
    if (usage !== null) this.#options.onUsage(entry, usage);
    entry.outcome = this.#outcome;
    this.#options.onComplete(entry);
  }

  #read(chunk: Uint8Array): void {
    const usage = this.#usage;
    if (!usage?.wantsBody) return;
    usage.write(chunk);
    this.#isReading = true;
    const hasRoom = this.#keep(usage.keptBytes);
    this.#isReading = false;
    if (hasRoom) return;
    usage.giveUp();
    this.#keep(0);
  }

  #keep(bytes: number): boolean {
    if (bytes !== this.#keptBytes && !this.#options.keepForUsage(bytes - this.#keptBytes)) return false;
    this.#keptBytes = bytes;
    return true;
  }

  #behavior(platform: ReadonlyMap<string, string>): void {
    if (platform.size === 0) return;
    const behavior = parseBehaviorHeaders(platform);
    addBehavior(this.#entry, behavior);
    if (behavior.guardrailsInvoked?.length || behavior.toolsCalled?.length)
      this.#options.onNames(this.#entry);
  }
}

/** An event may have come before the head, and trailers come after it: what is known already stays. */
function addBehavior(entry: AuditEntry, behavior: Behavior): void {
  if (behavior.guardrailsInvoked)
    entry.guardrailsInvoked = union(entry.guardrailsInvoked, behavior.guardrailsInvoked);
  if (behavior.toolsCalled) entry.toolsCalled = union(entry.toolsCalled, behavior.toolsCalled);
  if (behavior.userConfirmed !== undefined) entry.userConfirmed = behavior.userConfirmed;
}

function union(known: readonly string[] | undefined, added: readonly string[]): string[] {
  const names = known === undefined ? added : [...known, ...added];
  return [...new Set(names)];
}
