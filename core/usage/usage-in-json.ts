import { cut, isRecord, own } from '../untrusted/fields.ts';
import { countsOf, type TokenCounts } from './token-counts.ts';

/** What one JSON value shows about one call of a model. */
export interface Finding {
  /** Of the call: the vendor's or framework's id; null: it has none. */
  id: string | null;
  /** Of the call as well: the framework's id of a run, which each event about this call has; null: it has none. */
  runId: string | null;
  /** null: it is not named. */
  modelId: string | null;
  /** null: an answer of a model, or a piece of one, that states no usage here. */
  counts: TokenCounts | 'unreadable' | null;
  /**
   * `whole`: all that the call has used so far. `piece`: to be added to the other pieces of this id. `end`: belongs to the
   * answer that began last, where its id is not known. `tail`: the same, unless that answer has stated its usage already.
   * `step`: a call of its own, though without an id.
   */
  kind: 'whole' | 'piece' | 'end' | 'tail' | 'step';
  /** No more of this answer is expected. */
  isFinished: boolean;
  /** The value itself is this answer, and not one that a framework repeats in its own JSON. */
  isRoot: boolean;
  /** The result of an MCP tool, without usage: behind it may be a model, or none. */
  isToolResult: boolean;
}

/** Members that hold token counts. */
const HOLDERS = [
  'usage',
  'usage_metadata',
  'usageMetadata',
  'token_usage',
  'tokenUsage',
  'totalUsage',
  'total_usage',
  'usage_metrics',
  'models_usage',
  'tokens',
] as const;

/** Members that hold token counts by model. */
const HOLDERS_BY_MODEL = ['modelUsage', 'model_usage'] as const;

const IDS = ['id', 'response_id', 'responseId', 'provider_response_id', 'messageId', 'message_id'] as const;
const MODELS = [
  ...['model', 'model_name', 'modelName', 'modelId', 'model_id', 'modelVersion'],
  // LangChain's events have it next to the message.
  'ls_model_name',
] as const;
/** Members whose own members name what the object around them is. */
const ABOUT = ['response_metadata', 'response', 'metadata'] as const;

const MAX_NAME = 200;
/** JSON that is nested deeper holds no usage that is read. */
const MAX_DEPTH = 40;

/** Every call of a model that a JSON value shows. */
export function findUsage(value: unknown): Finding[] {
  return findingsIn(value, { id: null, runId: null, modelId: null, depth: 0, isRoot: true });
}

interface Place {
  /** Of the nearest object around. */
  id: string | null;
  runId: string | null;
  modelId: string | null;
  depth: number;
  isRoot: boolean;
}

function findingsIn(value: unknown, around: Place): Finding[] {
  if (typeof value !== 'object' || value === null || around.depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) {
    const inside = { ...around, depth: around.depth + 1, isRoot: false };
    return value.flatMap((each) => findingsIn(each, inside));
  }
  return findingsOfObject(value as Record<string, unknown>, around);
}

function findingsOfObject(object: Record<string, unknown>, around: Place): Finding[] {
  const type = own(object, 'type');
  const place = {
    ...around,
    id: idOf(object) ?? around.id,
    runId: runOf(object) ?? around.runId,
    modelId: modelOf(object) ?? around.modelId,
  };
  const inside = { ...place, depth: around.depth + 1, isRoot: false };
  const below: Finding[] = [];
  for (const [name, member] of Object.entries(object)) {
    if (typeof member !== 'object' || member === null) continue;
    // `response.completed` of the Responses API and `message_start` of Anthropic hold the answer itself.
    const isRoot = around.isRoot && typeof type === 'string' && EVENT_OF[name]?.test(type) === true;
    // What the call was given holds the messages of earlier ones.
    const runId = name === 'input' ? null : inside.runId;
    below.push(...findingsIn(member, { ...inside, runId, isRoot }));
  }
  below.push(...callsByModel(object, place));
  const found: Omit<Finding, 'counts'> = {
    id: place.id,
    runId: place.runId,
    modelId: place.modelId,
    kind: kindOf(object),
    isFinished: isFinished(object),
    isRoot: around.isRoot,
    isToolResult: around.isRoot && isToolResult(object),
  };
  const counts = countsAt(object);
  if (counts !== null) return larger({ ...found, counts }, below);
  const isAnswer = (around.isRoot && around.depth > 0) || found.isToolResult || isModelAnswer(object);
  if (below.length === 0 && isAnswer) return [{ ...found, counts: null }];
  return below;
}

const EVENT_OF: Readonly<Record<string, RegExp>> = { response: /^response\./, message: /^message_start$/ };

/** An object whose members are the token counts of one model each. */
function callsByModel(object: Record<string, unknown>, { id }: Place): Finding[] {
  const byModel = HOLDERS_BY_MODEL.map((name) => own(object, name)).find(isRecord) ?? {};
  return Object.entries(byModel).flatMap(([name, holder]) => {
    const counts = countsOf(holder);
    if (counts === null) return [];
    const modelId = cut(name, MAX_NAME);
    const named = { id: id === null ? null : `${id} ${modelId}`, modelId };
    const kind = 'whole';
    return [{ ...named, runId: null, counts, kind, isFinished: true, isRoot: false, isToolResult: false }];
  });
}

/**
 * What an object states covers what is inside it: frameworks repeat the usage of each call in a sum. The calls themselves
 * are taken where they are not less than the sum.
 */
function larger(sum: Finding, below: readonly Finding[]): Finding[] {
  const known = below.filter(({ counts }) => counts !== null);
  const areCalls = sum.id === null || known.some(({ id }) => id !== sum.id);
  const [ofCalls, ofSum] = [totalOf(known), totalOf([sum])];
  return ofCalls > ofSum || (ofCalls === ofSum && ofCalls > 0 && areCalls) ? known : [sum];
}

function totalOf(findings: readonly Finding[]): number {
  return findings.reduce(
    (sum, { counts }) => sum + (counts === null || counts === 'unreadable' ? 0 : counts.totalTokens),
    0,
  );
}

function countsAt(object: Record<string, unknown>): TokenCounts | 'unreadable' | null {
  let largest: TokenCounts | 'unreadable' | null = null;
  for (const name of HOLDERS) {
    const counts = countsOf(own(object, name));
    if (counts === null) continue;
    if (largest === null || counts === 'unreadable') largest = counts;
    else if (largest !== 'unreadable' && counts.totalTokens > largest.totalTokens) largest = counts;
  }
  return largest ?? (typeof own(object, 'eval_count') === 'number' ? countsOf(object) : null);
}

/** Frameworks' steps and pieces of messages; every other object states all that its call has used. */
function kindOf(object: Record<string, unknown>): Finding['kind'] {
  const type = own(object, 'type');
  if (type === 'AIMessageChunk') return 'piece';
  if (type === 'message_delta') return 'end';
  if (type === 'finish-step' || type === 'step-finish') return 'step';
  // The last chunk of a chat completion, which some servers send under another id.
  const choices = own(object, 'choices');
  return Array.isArray(choices) && choices.length === 0 ? 'tail' : 'whole';
}

/** Of a chunk: whether its choices are; of a response in the background: whether it is no longer under way. */
function isFinished(object: Record<string, unknown>): boolean {
  if (own(object, 'object') === 'chat.completion.chunk' || own(object, 'type') === 'AIMessageChunk') {
    const choices = own(object, 'choices');
    return (
      Array.isArray(choices) &&
      choices.some((each) => isRecord(each) && typeof own(each, 'finish_reason') === 'string')
    );
  }
  return own(object, 'status') !== 'queued' && own(object, 'status') !== 'in_progress';
}

function idOf(object: Record<string, unknown>): string | null {
  // The id of a JSON-RPC message is not that of a call.
  if (own(object, 'jsonrpc') !== undefined) return null;
  return textAt(object, IDS) ?? textIn(own(object, 'response'), IDS);
}

/** LangChain's events about one call: its pieces and its message have ids of two kinds. */
function runOf(object: Record<string, unknown>): string | null {
  const event = own(object, 'event');
  return typeof event === 'string' && MODEL_EVENT.test(event) ? textAt(object, ['run_id']) : null;
}

const MODEL_EVENT = /^on_(chat_model|llm)_/;

function modelOf(object: Record<string, unknown>): string | null {
  const named = textAt(object, MODELS);
  if (named !== null) return named;
  for (const name of ABOUT) {
    const found = textIn(own(object, name), MODELS);
    if (found !== null) return found;
  }
  return null;
}

function textIn(value: unknown, names: readonly string[]): string | null {
  return isRecord(value) ? textAt(value, names) : null;
}

function textAt(object: Record<string, unknown>, names: readonly string[]): string | null {
  for (const name of names) {
    const value = own(object, name);
    if (typeof value === 'string' && value !== '') return cut(value, MAX_NAME);
  }
  return null;
}

const MODEL_OBJECTS = new Set(['chat.completion', 'chat.completion.chunk', 'text_completion', 'response']);

/** Whether a JSON object is the answer of a model, or one chunk of it. */
function isModelAnswer(object: Record<string, unknown>): boolean {
  const kind = own(object, 'object');
  if (typeof kind === 'string' && MODEL_OBJECTS.has(kind)) return true;
  const choices = own(object, 'choices');
  if (Array.isArray(choices))
    return choices.every(isChoice) && (choices.length > 0 || modelOf(object) !== null);
  const type = own(object, 'type');
  return (
    (type === 'message' && own(object, 'role') === 'assistant' && Object.hasOwn(object, 'stop_reason')) ||
    ((type === 'ai' || type === 'AIMessageChunk') && isRecord(own(object, 'response_metadata')))
  );
}

/** A JSON-RPC response to `tools/call` of MCP: no other one has a list of content. */
function isToolResult(object: Record<string, unknown>): boolean {
  const result = own(object, 'result');
  return own(object, 'jsonrpc') !== undefined && isRecord(result) && Array.isArray(own(result, 'content'));
}

/** A poll or a form has choices, too: those of a model hold a message or a piece of text. */
function isChoice(value: unknown): boolean {
  return isRecord(value) && ['message', 'delta', 'text'].some((name) => Object.hasOwn(value, name));
}
