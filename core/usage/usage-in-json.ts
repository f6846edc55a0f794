import { cut, isRecord, own } from '../untrusted/fields.ts';
import { ABOUT, idOf, IDS, MAX_NAME, modelOf, MODELS, runOf } from './call-names.ts';
import { isFinished, isModelResponse, isToolResult } from './model-responses.ts';
import { countsOf, type SentCounts } from './token-counts.ts';
import type { TokenCounts } from '../shapes/request-usage.ts';

/** Information about one model call found in one JSON value. */
export interface FoundCall {
  /** Id of the call from the vendor or framework; null: none. */
  id: string | null;
  /** Run id of the framework, which is the same in all events about the call; null: none. */
  runId: string | null;
  /** null: unknown. */
  modelId: string | null;
  /** null: a model response, or a piece of one, without usage. */
  counts: TokenCounts | 'unreadable' | null;
  /**
   * `total`: the complete usage of the call so far, such as that of a chat completion. `increment`: is added to the others with this
   * id, such as an AIMessageChunk of LangChain. `latest-end`: belongs to the most recently started call if its id is unknown, such as
   * Anthropic's message_delta. `latest-end-without-usage`: like `latest-end`, unless that call already has usage, such as the last
   * chunk of a chat completion, which has no choices. `single`: a separate call without an id, such as finish-step of the AI SDK.
   * `partial`: the usage so far of a call whose last event has a different id, such as a partial event of the Agent Development Kit.
   */
  kind: 'total' | 'increment' | 'latest-end' | 'latest-end-without-usage' | 'single' | 'partial';
  /** The call is complete. */
  isFinished: boolean;
  /** The value itself is the model response, not a copy inside the JSON of a framework. */
  isRoot: boolean;
  /** The value is the result of an MCP tool. The tool may or may not call a model. */
  isToolResult: boolean;
}

/** Members that contain token counts. */
const HOLDERS: ReadonlySet<string> = new Set([
  'usage',
  'usage_metadata',
  'usageMetadata',
  'token_usage',
  'tokenUsage',
  'totalUsage',
  'total_usage',
  'usage_metrics',
  'models_usage',
  'accumulated_usage',
  'usageDetails',
  'usage_details',
  'Usage',
  'tokens',
]);
/** Cohere. Read if the same object has no `tokens`. */
const BILLED = 'billed_units';
/** Groq, in streams. Its own id is that of the request. */
const GROQ = 'x_groq';

/** Members that contain token counts by model. */
const HOLDERS_BY_MODEL = ['modelUsage', 'model_usage'] as const;

/** Ollama and llama.cpp have no member around their counts. */
const UNHELD_COUNTS = ['eval_count', 'prompt_eval_count', 'tokens_predicted'] as const;

/**
 * Strings, of which a JSON text contains at least one in quotes if `findUsage` finds anything in it: names of members and
 * values that make an object a holder of counts, a model response or a tool result.
 */
export const MARKS: readonly string[] = [
  ...HOLDERS,
  ...HOLDERS_BY_MODEL,
  BILLED,
  ...UNHELD_COUNTS,
  // Members of events and of JSON-RPC messages. `response` is also a value of `object`.
  ...['response', 'message_start', 'jsonrpc'],
  // `isModelResponse`
  ...['chat.completion', 'chat.completion.chunk', 'text_completion'],
  ...['choices', 'stop_reason', 'response_metadata', 'candidates', 'done'],
];

/** Members whose texts `findUsage` reads. Any other text can differ without a difference in the found calls. */
export const READ_TEXTS: ReadonlySet<string> = new Set([
  ...IDS,
  ...MODELS,
  ...['type', 'role', 'object', 'status', 'event', 'run_id'],
]);

/** Usage in JSON that is nested deeper is not read. */
const MAX_DEPTH = 40;

/**
 * What the members of an object are read for, one bit each. Most objects of a response have no such member, so one look-up for
 * each member that is there replaces one for each member that may be there.
 */
const [ID, MODEL, COUNTS, EVENT, KIND, RPC, BY_MODEL] = [1, 2, 4, 8, 16, 32, 64] as const;
const USES: ReadonlyMap<string, number> = usesOf([
  [[...IDS, 'response'], ID],
  [[...MODELS, ...ABOUT], MODEL],
  [[...HOLDERS, BILLED, GROQ, ...UNHELD_COUNTS], COUNTS],
  [HOLDERS_BY_MODEL, BY_MODEL],
  [['event'], EVENT],
  [['type', 'object', 'choices', 'candidates', 'done'], KIND],
  [['jsonrpc'], RPC],
]);

function usesOf(uses: readonly (readonly [names: readonly string[], use: number])[]): Map<string, number> {
  const byName = new Map<string, number>();
  for (const [names, use] of uses) for (const name of names) byName.set(name, (byName.get(name) ?? 0) | use);
  return byName;
}

/**
 * Finds all model calls in a JSON value.
 * @param sent counts of the request; null: none
 */
export function findUsage(value: unknown, sent: SentCounts | null = null): readonly FoundCall[] {
  return callsIn(value, { id: null, runId: null, modelId: null, sent, depth: 0, isRoot: true });
}

/** A place in the JSON; the ids are from the nearest enclosing object. */
interface Place extends Pick<FoundCall, 'id' | 'runId' | 'modelId' | 'isRoot'> {
  sent: SentCounts | null;
  depth: number;
}

/** Shared, because most values contain nothing. */
const NO_CALLS: readonly FoundCall[] = [];

function callsIn(value: unknown, around: Place): readonly FoundCall[] {
  if (typeof value !== 'object' || value === null || around.depth > MAX_DEPTH) return NO_CALLS;
  return Array.isArray(value)
    ? callsOfList(value, around)
    : callsOfObject(value as Record<string, unknown>, around);
}

function callsOfList(list: readonly unknown[], around: Place): readonly FoundCall[] {
  const { id, runId, modelId, sent, depth } = around;
  const inside = { id, runId, modelId, sent, depth: depth + 1, isRoot: false };
  let calls: FoundCall[] | null = null;
  for (const each of list) calls = withMore(calls, callsIn(each, inside));
  return calls ?? NO_CALLS;
}

/** Adds calls to a list, which is created for the first one. */
function withMore(calls: FoundCall[] | null, more: readonly FoundCall[]): FoundCall[] | null {
  if (more.length === 0) return calls;
  const all = calls ?? [];
  for (const each of more) all.push(each);
  return all;
}

function callsOfObject(object: Record<string, unknown>, around: Place): readonly FoundCall[] {
  const names = Object.keys(object);
  let uses = 0;
  for (const name of names) uses |= USES.get(name) ?? 0;
  const place = placeOf(object, uses, around);
  let below = callsOfMembers(object, names, place);
  if ((uses & BY_MODEL) !== 0) below = withMore(below, callsByModel(object, place));
  const isTool = around.isRoot && (uses & RPC) !== 0 && isToolResult(object);
  const { sent } = around;
  const counts =
    (uses & COUNTS) === 0 ? null : (countsAt(object, names, sent) ?? unheldCountsOf(object, sent));
  if (counts === 'sent') return below ?? NO_CALLS;
  if (counts === null) {
    if (below !== null) return below;
    const isResponse =
      (around.isRoot && around.depth > 0) || isTool || ((uses & KIND) !== 0 && isModelResponse(object));
    if (!isResponse) return NO_CALLS;
  }
  const found: FoundCall = {
    id: place.id,
    runId: place.runId,
    modelId: place.modelId,
    counts,
    kind: kindOf(object),
    isFinished: isFinished(object),
    isRoot: around.isRoot,
    isToolResult: isTool,
  };
  return below === null ? [found] : larger(found, below);
}

/** `uses`: what the members of the object are read for. */
function placeOf(object: Record<string, unknown>, uses: number, around: Place): Place {
  const id = (uses & ID) === 0 ? null : idOf(object);
  const runId = (uses & EVENT) === 0 ? null : runOf(object);
  const modelId = (uses & MODEL) === 0 ? null : modelOf(object);
  if (id === null && runId === null && modelId === null) return around;
  const { sent, depth, isRoot } = around;
  return {
    id: id ?? around.id,
    runId: runId ?? around.runId,
    modelId: modelId ?? around.modelId,
    sent,
    depth,
    isRoot,
  };
}

function callsOfMembers(
  object: Record<string, unknown>,
  names: readonly string[],
  { id, runId, modelId, sent, depth, isRoot }: Place,
): FoundCall[] | null {
  let calls: FoundCall[] | null = null;
  for (const name of names) {
    const member = object[name];
    if (typeof member !== 'object' || member === null || name === GROQ) continue;
    const inside = {
      id,
      // The input of a call contains the messages of earlier calls, which belong to other runs.
      runId: name === 'input' ? null : runId,
      modelId,
      sent,
      depth: depth + 1,
      // `response.completed` of the Responses API and `message_start` of Anthropic contain the model response itself.
      isRoot: isRoot && isEventWith(name, object),
    };
    calls = withMore(calls, callsIn(member, inside));
  }
  return calls;
}

function isEventWith(name: string, object: Record<string, unknown>): boolean {
  const pattern = EVENT_OF.get(name);
  if (pattern === undefined) return false;
  const type = own(object, 'type');
  return typeof type === 'string' && pattern.test(type);
}

const EVENT_OF: ReadonlyMap<string, RegExp> = new Map([
  ['response', /^response\./],
  ['message', /^message_start$/],
]);

/** Calls of an object that contains token counts by model. */
function callsByModel(object: Record<string, unknown>, { id, sent }: Place): FoundCall[] {
  const byModel = HOLDERS_BY_MODEL.map((name) => own(object, name)).find(isRecord) ?? {};
  return Object.entries(byModel).flatMap(([name, holder]) => {
    const counts = countsOf(holder, sent);
    if (counts === null || counts === 'sent') return [];
    const modelId = cut(name, MAX_NAME);
    const named = { id: id === null ? null : `${id} ${modelId}`, modelId };
    const kind = 'total';
    return [{ ...named, runId: null, counts, kind, isFinished: true, isRoot: false, isToolResult: false }];
  });
}

/**
 * The usage of an object includes the usage of its nested objects, because frameworks repeat the usage of each call in a
 * sum. The nested calls are used if they are not less than the sum.
 */
function larger(sum: FoundCall, below: readonly FoundCall[]): FoundCall[] {
  const known = below.filter(({ counts }) => counts !== null);
  const areCalls = sum.id === null || known.some(({ id }) => id !== sum.id);
  const [ofCalls, ofSum] = [totalOf(known), totalOf([sum])];
  return ofCalls > ofSum || (ofCalls === ofSum && ofCalls > 0 && areCalls) ? known : [sum];
}

function totalOf(calls: readonly FoundCall[]): number {
  return calls.reduce(
    (sum, { counts }) => sum + (counts === null || counts === 'unreadable' ? 0 : counts.totalTokens),
    0,
  );
}

type Counts = ReturnType<typeof countsOf>;

function countsAt(
  object: Record<string, unknown>,
  names: readonly string[],
  sent: SentCounts | null,
): Counts {
  let largest: Counts = null;
  for (const name of names) if (HOLDERS.has(name)) largest = largerOf(largest, countsOf(object[name], sent));
  const groq = own(object, GROQ);
  if (isRecord(groq)) largest = largerOf(largest, countsOf(own(groq, 'usage'), sent));
  return largest ?? countsOf(own(object, BILLED), sent);
}

function largerOf(first: Counts, second: Counts): Counts {
  if (first === null || first === 'sent') return second ?? first;
  if (second === null || second === 'sent' || first === 'unreadable') return first;
  return second === 'unreadable' || second.totalTokens > first.totalTokens ? second : first;
}

function unheldCountsOf(object: Record<string, unknown>, sent: SentCounts | null): Counts {
  return UNHELD_COUNTS.some((name) => typeof own(object, name) === 'number') ? countsOf(object, sent) : null;
}

/** Detects framework steps and message pieces. Any other object contains the complete usage of its call. */
function kindOf(object: Record<string, unknown>): FoundCall['kind'] {
  const type = own(object, 'type');
  if (type === 'AIMessageChunk') return 'increment';
  if (type === 'message_delta') return 'latest-end';
  if (type === 'finish-step' || type === 'step-finish' || isBedrockEvent(object)) return 'single';
  // The Agent Development Kit repeats the sum so far in each event of a streamed call.
  if (own(object, 'partial') === true) return 'partial';
  // The last chunk of a chat completion, which some servers send with a different id.
  const choices = own(object, 'choices');
  return Array.isArray(choices) && choices.length === 0 ? 'latest-end-without-usage' : 'total';
}

/** The last event of a Converse stream, which has no id. */
function isBedrockEvent(object: Record<string, unknown>): boolean {
  return isRecord(own(object, 'usage')) && isRecord(own(object, 'metrics'));
}
