import { addTokens } from './token-counts.ts';
import type { TokenCounts, ResponseUsage, ModelCall, RequestUsage } from '../shapes/request-usage.ts';
import { findUsage, type FoundCall } from './usage-in-json.ts';
import { EVERY_RESPONSE, type UsageScope } from './usage-scope.ts';
import { REQUESTED_MODEL } from '../shapes/hidden-members.ts';
import type { ParsedUsage, ReadCall } from './usage.ts';

/** Maximum calls of one response that are kept by id. Further calls are handled like usage without an id: the largest counts. */
const MAX_CALLS = 1000;

/** Estimated bytes of a call with its id and model name, which have at most 200 characters each. */
const CALL_BYTES = 800;
/** Estimated bytes of an alias of an id. */
const ALIAS_BYTES = 500;

/** Key of the call whose usage so far is known. Its last event replaces it. */
const PARTIAL = 'partial';

interface Call {
  id: string | null;
  modelId: string | null;
  counts: TokenCounts | null;
  /** Sum of the increments. */
  increments: TokenCounts | null;
  isUnreadable: boolean;
  isFinished: boolean;
  isRoot: boolean;
  /** The last found count was an increment, and the call has no counts yet. */
  isWaiting: boolean;
  isToolResult: boolean;
}

/**
 * Sums the usage of the model calls in one response: a JSON document, or the events of a stream. Calls are identified by
 * their ids, so a repeated call counts once.
 */
export class UsageCollector {
  readonly #calls = new Map<string, Call>();
  /** For a call with several ids: the id under which the call is kept, by each other id. */
  readonly #aliases = new Map<string, string>();
  /** The first call id in the events of a run, by run id. */
  readonly #idsOfRuns = new Map<string, string>();
  /** Usage without an id: of the whole response, or of its only call. */
  readonly #unnamed: Call = { ...NO_CALL };
  #last: Call | null = null;
  #modelId: string | null = null;
  #steps = 0;
  #hasSkipped = false;
  /** The skipped event was a response of its own. */
  #hasSkippedCall = false;
  readonly #scope: UsageScope;

  constructor(scope: UsageScope = EVERY_RESPONSE) {
    this.#scope = scope;
  }

  /** Estimated memory of the ids and calls in bytes. */
  get heldBytes(): number {
    return this.#calls.size * CALL_BYTES + (this.#aliases.size + this.#idsOfRuns.size) * ALIAS_BYTES;
  }

  /** Adds one JSON value. Returns true if adding it once more, as the next value, would change nothing. */
  add(value: unknown): boolean {
    const calls = callsIn(value, this.#scope);
    this.addCalls(calls);
    return calls.length <= 1 && calls.every(isRepeatable);
  }

  /** Adds the calls found in one JSON value. */
  addCalls(calls: readonly FoundCall[]): void {
    let ofEvent: TokenCounts | null = null;
    for (const found of calls) {
      const call = this.#callOf(found);
      this.#modelId ??= found.modelId;
      call.modelId ??= found.modelId;
      call.isFinished ||= found.isFinished;
      call.isRoot ||= found.isRoot;
      call.isToolResult ||= found.isToolResult;
      if (found.counts === 'unreadable') call.isUnreadable = true;
      else if (call === this.#unnamed) ofEvent = sumOf(ofEvent, found.counts);
      else if (found.kind === 'increment') call.increments = withIncrement(call.increments, found.counts);
      else call.counts = largestOf(call.counts, found.counts);
      call.isWaiting = found.kind === 'increment' && countsOfCall(call) === null;
      this.#last = call;
    }
    this.#unnamed.counts = largestOf(this.#unnamed.counts, ofEvent);
  }

  /** An event of a model was too long to be read. It may be the one with the usage of the last call, or of another call. */
  skip(isResponse: boolean): void {
    this.#hasSkipped = true;
    if (this.#last !== null && countsOfCall(this.#last) === null) this.#last.isFinished = true;
    else this.#hasSkippedCall ||= isResponse;
  }

  /** null: no model response was found. */
  result(): ParsedUsage | null {
    const last = this.#last;
    if (last === null) return this.#hasSkipped ? { calls: [], unknown: [null], reason: TOO_LONG } : null;
    const about = { last, modelId: this.#modelId, scope: this.#scope };
    const usage = resultOf([...this.#calls.values()], this.#unnamed, about);
    if (!this.#hasSkipped) return usage;
    const unknown = this.#hasSkippedCall ? [...usage.unknown, null] : usage.unknown;
    return { ...usage, unknown, reason: usage.reason === NO_USAGE ? TOO_LONG : usage.reason };
  }

  #callOf(found: FoundCall): Call {
    const { kind, counts } = found;
    if (kind === 'partial') return this.#callAt(PARTIAL, null);
    if (counts !== null) this.#calls.delete(PARTIAL);
    const last = this.#last;
    const id = this.#idOf(found);
    const isLast =
      kind === 'latest-end' ||
      (kind === 'latest-end-without-usage' && last !== null && countsOfCall(last) === null);
    if (isLast && last !== null && (id === null || !this.#calls.has(`id ${id}`))) return last;
    if (id === null && kind !== 'single') return this.#unnamed;
    const key = id === null ? `step ${(this.#steps += 1)}` : `id ${id}`;
    return this.#callAt(key, id);
  }

  #callAt(key: string, id: string | null): Call {
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    if (this.#calls.size >= MAX_CALLS) return this.#unnamed;
    const call: Call = { ...NO_CALL, id };
    this.#calls.set(key, call);
    return call;
  }

  /** The id under which a found call is kept. */
  #idOf({ id, runId, kind, counts }: FoundCall): string | null {
    if (id === null) return null;
    const last = this.#last;
    const aliases = this.#aliases;
    const idsOfRuns = this.#idsOfRuns;
    // LangChain in JavaScript: the increment with the counts is the last one and has a different id.
    const endsLast =
      kind === 'increment' && counts !== null && id.startsWith('run-') && last?.isWaiting === true;
    const known = (runId === null ? null : idsOfRuns.get(runId)) ?? (endsLast ? last?.id : null) ?? id;
    if (runId !== null && idsOfRuns.size < MAX_CALLS) idsOfRuns.set(runId, known);
    if (known === id) return aliases.get(id) ?? id;
    const isNew = !this.#calls.has(`id ${id}`) && !aliases.has(id);
    if (isNew && aliases.size < MAX_CALLS) aliases.set(id, known);
    return aliases.get(id) ?? id;
  }
}

/** The usage of one JSON document. null: it contains no model response. */
export function usageOfDocument(value: unknown, scope: UsageScope = EVERY_RESPONSE): ParsedUsage | null {
  const calls = callsIn(value, scope);
  const [only] = calls;
  if (only === undefined) return null;
  const { counts } = only;
  // Most responses are one call with its usage, for which nothing has to be collected.
  if (calls.length === 1 && only.kind === 'total' && counts !== null && counts !== 'unreadable')
    return {
      calls: [readCall(only.id === null ? UNNAMED : only, counts, only.modelId, scope)],
      unknown: [],
      reason: NO_USAGE,
    };
  const usage = new UsageCollector(scope);
  usage.addCalls(calls);
  return usage.result();
}

/** A chunk of a call without usage. The other kinds depend on what came before, and a step is a new call each time. */
function isRepeatable({ counts, kind }: FoundCall): boolean {
  return counts === null && (kind === 'total' || kind === 'increment');
}

const NO_CALL: Call = {
  ...{ id: null, modelId: null, counts: null, increments: null },
  ...{ isUnreadable: false, isFinished: false, isRoot: false, isWaiting: false, isToolResult: false },
};

function resultOf(
  calls: readonly Call[],
  unnamed: Call,
  { last, modelId, scope }: { last: Call; modelId: string | null; scope: UsageScope },
): ParsedUsage {
  const read: ReadCall[] = [];
  for (const call of calls) {
    const counts = countsOfCall(call);
    if (counts !== null) read.push(readCall(call, counts, call.modelId ?? modelId, scope));
  }
  const rest = restOf(unnamed.isUnreadable ? null : unnamed.counts, read);
  if (rest !== null) read.push(readCall(UNNAMED, rest, unnamed.modelId ?? modelId, scope));
  // If the sum is larger than the calls that were read, the sum also covers the calls without usage.
  const unread = rest === null ? calls.filter((call) => isUnread(call, last)) : [];
  if (read.length === 0 && unread.length === 0) unread.push(unnamed);
  return { calls: read, unknown: unread.map(({ id }) => id), reason: reasonOf(unread) };
}

/** The reason for a response whose only call without usage is the result of an MCP tool. */
export const TOOL_RESULT = 'the tool result has no usage';

const NO_USAGE = 'the response has no usage';
const TOO_LONG = 'an event of the response is larger than 1 MiB';

function reasonOf(unread: readonly Call[]): string {
  if (unread.some(({ isUnreadable }) => isUnreadable)) return 'the response has invalid usage';
  const areToolResults = unread.length > 0 && unread.every(({ isToolResult }) => isToolResult);
  return areToolResults ? TOOL_RESULT : NO_USAGE;
}

/** Some servers use a different id for each chunk. In that case only the last id counts as a call. */
function isUnread(call: Call, last: Call): boolean {
  return countsOfCall(call) === null && (call.isFinished || call === last);
}

/** The usage to store in the audit entry; null: the response contains no calls. */
export function requestUsageOf({ calls, unknown, reason }: ParsedUsage): RequestUsage | null {
  if (calls.length === 0) return unknown.length === 0 ? null : { unavailable: reason };
  const usage: ResponseUsage = totalOf(calls);
  if (calls.length === 1 && calls[0]?.[REQUESTED_MODEL] === true) usage[REQUESTED_MODEL] = true;
  if (calls.length > 1) usage.calls = calls.map(({ id: _id, isRoot: _isRoot, ...call }): ModelCall => call);
  if (unknown.length > 0) usage.callsWithoutUsage = unknown.length;
  return usage;
}

const UNKNOWN = 'unknown';

function countsOfCall({ counts, increments, isUnreadable }: Call): TokenCounts | null {
  return isUnreadable ? null : largestOf(counts, increments);
}

const UNNAMED: Pick<ReadCall, 'id' | 'isRoot'> = { id: null, isRoot: false };

/** Names each member: this runs for each model response, and copying an object by its members is slower. */
function readCall(
  { id, isRoot }: Pick<ReadCall, 'id' | 'isRoot'>,
  { promptTokens, completionTokens, totalTokens }: TokenCounts,
  modelId: string | null,
  { request }: UsageScope,
): ReadCall {
  const call: ReadCall = {
    modelId: modelId ?? UNKNOWN,
    promptTokens,
    completionTokens,
    totalTokens,
    id,
    isRoot,
  };
  if (modelId !== null && request?.hasModel(modelId) === true) call[REQUESTED_MODEL] = true;
  return call;
}

function callsIn(value: unknown, { isRead, request }: UsageScope): readonly FoundCall[] {
  return isRead === null || isRead(value) ? findUsage(value, request) : [];
}

/** The part of a sum without an id that is not covered by the calls that were read. */
function restOf(sum: TokenCounts | null, read: readonly ReadCall[]): TokenCounts | null {
  if (sum === null) return null;
  const known = totalOf(read);
  const totalTokens = sum.totalTokens - known.totalTokens;
  if (read.length > 0 && totalTokens <= 0) return null;
  const promptTokens = Math.min(totalTokens, Math.max(0, sum.promptTokens - known.promptTokens));
  const completionTokens = Math.max(0, sum.completionTokens - known.completionTokens);
  return {
    promptTokens,
    completionTokens: Math.min(totalTokens - promptTokens, completionTokens),
    totalTokens,
  };
}

/** The sum of several calls. The model id is `(several)` if the calls have different models. */
export function totalOf(calls: readonly ModelCall[]): ModelCall {
  const modelId = calls[0]?.modelId ?? UNKNOWN;
  const sum: ModelCall = { modelId, promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  for (const call of calls) {
    addTokens(sum, call);
    if (call.modelId !== sum.modelId) sum.modelId = SEVERAL;
  }
  return sum;
}

const SEVERAL = '(several)';

function sumOf(first: TokenCounts | null, second: TokenCounts | null): TokenCounts | null {
  if (first === null || second === null) return first ?? second;
  const sum = { ...first };
  addTokens(sum, second);
  return sum;
}

/**
 * Adds an increment. One that is at least as large as the sum so far replaces the sum, because libraries repeat the complete
 * message at the end.
 */
function withIncrement(sum: TokenCounts | null, increment: TokenCounts | null): TokenCounts | null {
  if (sum === null || increment === null) return sum ?? increment;
  const isSum =
    increment.promptTokens >= sum.promptTokens && increment.completionTokens >= sum.completionTokens;
  return isSum ? largestOf(sum, increment) : sumOf(sum, increment);
}

/** The maximum of each member, because a vendor sends growing prompt and completion counts in different events. */
function largestOf(first: TokenCounts | null, second: TokenCounts | null): TokenCounts | null {
  if (first === null || second === null) return first ?? second;
  const promptTokens = Math.max(first.promptTokens, second.promptTokens);
  const completionTokens = Math.max(first.completionTokens, second.completionTokens);
  const totalTokens = Math.max(first.totalTokens, second.totalTokens, promptTokens + completionTokens);
  return { promptTokens, completionTokens, totalTokens };
}
