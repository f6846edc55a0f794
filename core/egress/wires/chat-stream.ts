import { isRecord, own } from '../../untrusted/fields.ts';
import type { FilterOptions, Json } from '../model-wire.ts';
import { isNoneLeft, NOT_A_CALL, type JudgedCall, type CallPart } from './judged-calls.ts';
import { definitionOf, reasonWithoutCalls } from './chat-messages.ts';
import {
  argumentsText,
  indexAt,
  listAt,
  nameAt,
  recordAt,
  recordsAt,
  stringAt,
  withMessage,
  without,
} from './members.ts';
import { usageOf } from './model-usage.ts';
import { Renumbering } from './renumbering.ts';
import type { Repetition } from '../../usage/repeated-event.ts';
import { CallEditor } from './stream-filter.ts';

/** Members of an event with text of the model, or with text of no meaning. */
const TEXTS: ReadonlySet<string> = new Set([
  'content',
  'reasoning',
  'reasoning_content',
  'refusal',
  'obfuscation',
]);
const mayDiffer = (name: string): boolean => TEXTS.has(name);

/** Choices of one response whose calls are kept apart. */
const MAX_CHOICES = 256;

/** A choice of a stream. */
class Choice {
  readonly calls: JudgedCall[] = [];
  /** By `index` of the fragments. Some vendors use an index for several calls: the last one. */
  readonly byIndex = new Map<number, JudgedCall>();
  readonly positions = new Renumbering();
  /** The position of each call in the new stream. */
  readonly newIndex = new Map<JudgedCall, number>();
  last: JudgedCall | null = null;
  legacy: JudgedCall | null = null;
  hasText = false;
  isFinished = false;
  /** The message was written. */
  isReplaced = false;
}

/** Reads and writes streams of chat completions. */
export class ChatEditor extends CallEditor {
  readonly #removeUsage: boolean;
  readonly #choices = new Map<number, Choice>();
  #unfinished = 0;

  constructor(options: FilterOptions) {
    super(options);
    this.#removeUsage = options.removeUsage;
  }

  override get isChanging(): boolean {
    return this.#removeUsage || this.calls.isChanging;
  }

  override read(event: Json): readonly JudgedCall[] {
    this.facts.model ??= nameAt(event, 'model');
    this.facts.usage = usageOf('chat', event) ?? this.facts.usage;
    const found: JudgedCall[] = [];
    for (const choice of recordsAt(event, 'choices')) this.#readChoice(choice, found);
    this.facts.isComplete = this.#choices.size > 0 && this.#unfinished === 0;
    return found;
  }

  override write(event: Json, calls: readonly JudgedCall[], data: string): readonly (Json | string)[] | null {
    const choices = listAt(event, 'choices') ?? [];
    const edits = this.#editsOf(choices, calls[Symbol.iterator]());
    const isUsageOnly = choices.length === 0 && recordAt(event, 'usage') !== null;
    if (this.#removeUsage && isUsageOnly) return [];
    const hasNoUsage = this.#removeUsage && own(event, 'usage') === null;
    if (edits.every(({ isChanged }) => !isChanged)) return hasNoUsage ? [withoutUsage(event, data)] : null;
    const kept = edits.filter(({ isEmpty }) => !isEmpty);
    const texts = edits.flatMap(({ text }) => text ?? []);
    const chunk = hasNoUsage ? without(event, 'usage') : event;
    const before = texts.map((text) => ({ ...without(event, 'usage'), choices: [text] }));
    if (kept.length > 0) return [...before, { ...chunk, choices: kept.map(({ choice }) => choice) }];
    // Without a choice many clients fail, so an event with usage keeps its empty choices.
    if (recordAt(event, 'usage') === null) return before;
    return [...before, { ...chunk, choices: edits.map(({ choice }) => choice) }];
  }

  repetition(event: Json, data: string): Repetition | null {
    const choices = recordsAt(event, 'choices');
    const isText = choices.every(
      (choice) => this.#choiceAt(choice).hasText && stringAt(choice, 'finish_reason') === null,
    );
    if (this.calls.isChanging || choices.length === 0 || !isText) return null;
    const hasNoUsage = this.#removeUsage && own(event, 'usage') === null;
    if (!hasNoUsage) return { mayDiffer, edit: null };
    return typeof withoutUsage(event, data) === 'string' ? { mayDiffer, edit: withoutUsageText } : null;
  }

  #choiceAt(choice: Json): Choice {
    const index = Math.min(indexAt(choice) ?? 0, MAX_CHOICES);
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const created = new Choice();
    this.#choices.set(index, created);
    this.#unfinished += 1;
    return created;
  }

  #readChoice(choice: Json, found: JudgedCall[]): void {
    const state = this.#choiceAt(choice);
    const delta = recordAt(choice, 'delta');
    for (const entry of listAt(delta, 'tool_calls') ?? []) found.push(this.#readFragment(state, entry));
    const legacy = recordAt(delta, 'function_call');
    if (legacy !== null) {
      const part = partOf(legacy, legacy);
      if (state.legacy === null || isOther(state.legacy, part, 0)) state.legacy = this.#start(state, part);
      else this.calls.add(state.legacy, part);
      found.push(state.legacy);
    }
    state.hasText ||= (stringAt(delta, 'content') ?? '') !== '';
    if (stringAt(choice, 'finish_reason') === null) return;
    if (!state.isFinished) this.#unfinished -= 1;
    state.isFinished = true;
    for (const call of state.calls) this.calls.finish(call);
  }

  #readFragment(state: Choice, entry: unknown): JudgedCall {
    if (!isRecord(entry)) return NOT_A_CALL;
    const part = partOf(entry, definitionOf(entry));
    const index = indexAt(entry);
    const known = index === null ? state.last : (state.byIndex.get(index) ?? null);
    if (known !== null && !isOther(known, part, index)) {
      this.calls.add(known, part);
      return known;
    }
    // A fragment without anything that could be a call.
    if (index === null && part.id === null && part.name === null) return NOT_A_CALL;
    const call = this.#start(state, part);
    state.last = call;
    if (index !== null && !state.byIndex.has(index) && state.byIndex.size >= MAX_FRAGMENTS) return call;
    if (index !== null) state.byIndex.set(index, call);
    if (index !== null && !this.calls.isChanging) state.newIndex.set(call, state.positions.begin(index));
    return call;
  }

  /** A new call ends the call before it, unless the fragments of several calls alternate. */
  #start(state: Choice, part: CallPart): JudgedCall {
    const { last } = state;
    if (last?.decision === 'hold' && last.isWhole()) this.calls.finish(last);
    const call = this.calls.start(part);
    if (state.calls.at(-1) !== call) state.calls.push(call);
    return call;
  }

  #editsOf(choices: readonly unknown[], calls: Iterator<JudgedCall, undefined>): Edit[] {
    return choices.map((choice) => {
      if (!isRecord(choice)) return { choice, isChanged: false, isEmpty: false, text: null };
      return editOf(choice, { state: this.#choiceAt(choice), calls, message: this.message });
    });
  }
}

/** Indexes of one choice that are remembered: more than the calls that are. */
const MAX_FRAGMENTS = 2000;

/** Some vendors give all calls the same index, or none, but each an id of its own. A call that ended has no other name. */
function isOther(known: JudgedCall, { id, name }: CallPart, index: number | null): boolean {
  if (name === null) return false;
  if (!known.isOpen && name !== known.name) return true;
  if (index === null) return id === null || id !== known.id;
  return id !== null && known.id !== null && id !== known.id;
}

function partOf(entry: Json, definition: Json | null): CallPart {
  const text = definition === null ? null : (own(definition, 'arguments') ?? own(definition, 'input'));
  return {
    id: nameAt(entry, 'id'),
    name: nameAt(definition, 'name'),
    arguments: typeof text === 'string' ? text : isRecord(text) ? argumentsText(text) : null,
  };
}

/** A choice of an event in the new stream. */
interface Edit {
  choice: unknown;
  isChanged: boolean;
  /** Only removed calls were in it. */
  isEmpty: boolean;
  /** The choice with the message, in an event before this one; null: none. */
  text: Json | null;
}

interface EditOptions {
  state: Choice;
  /** The calls of the event's fragments, in their order. */
  calls: Iterator<JudgedCall, undefined>;
  message: string;
}

function editOf(choice: Json, { state, calls, message }: EditOptions): Edit {
  const delta = recordAt(choice, 'delta');
  const edited = delta === null ? null : deltaWithout(delta, state, calls);
  const reason = stringAt(choice, 'finish_reason');
  const isLast = reason !== null && isNoneLeft(state.calls);
  if (isLast) {
    const rest = edited ?? {};
    const content = textWith(stringAt(rest, 'content'), message, state.hasText);
    const text = state.isReplaced ? null : { ...choice, delta: { ...rest, content }, finish_reason: null };
    state.isReplaced = true;
    const last = { ...choice, delta: {}, finish_reason: reasonWithoutCalls(reason) };
    return { choice: last, isChanged: true, isEmpty: false, text };
  }
  if (edited === delta || edited === null) return { choice, isChanged: false, isEmpty: false, text: null };
  const hasNoCall = listAt(edited, 'tool_calls') === null && recordAt(edited, 'function_call') === null;
  const isEmpty = hasNoCall && reason === null && Object.values(edited).every((value) => value === null);
  return { choice: { ...choice, delta: edited }, isChanged: true, isEmpty, text: null };
}

/** The message is a paragraph below the text of the stream. */
function textWith(text: string | null, message: string, hasText: boolean): string {
  if (text !== null && text !== '') return withMessage(text, message);
  return hasText ? `\n\n${message}` : message;
}

/** The same object: unchanged. */
function deltaWithout(delta: Json, state: Choice, calls: Iterator<JudgedCall, undefined>): Json {
  let edited = delta;
  const entries = listAt(delta, 'tool_calls');
  if (entries !== null) {
    const kept = entries.flatMap((entry) => fragmentOf(entry, nextOf(calls), state));
    const isChanged = kept.length !== entries.length || kept.some((entry, index) => entry !== entries[index]);
    if (isChanged) edited = kept.length === 0 ? without(delta, 'tool_calls') : { ...delta, tool_calls: kept };
  }
  if (recordAt(delta, 'function_call') === null || nextOf(calls).decision === 'pass') return edited;
  return without(edited, 'function_call');
}

function nextOf(calls: Iterator<JudgedCall, undefined>): JudgedCall {
  return calls.next().value ?? NOT_A_CALL;
}

/** []: removed. */
function fragmentOf(entry: unknown, call: JudgedCall, state: Choice): unknown[] {
  if (call.decision === 'remove') {
    state.positions.drop();
    return [];
  }
  const index = isRecord(entry) ? indexAt(entry) : null;
  if (index === null || call === NOT_A_CALL) return [entry];
  const position = state.newIndex.get(call) ?? state.positions.begin(index);
  state.newIndex.set(call, position);
  return [position === index ? entry : { ...(entry as Json), index: position }];
}

const NO_USAGE = /,\s*"usage"\s*:\s*null(?=\s*[,}])/g;

/** Without `"usage": null`. The text is kept where possible, so that the rest of the event keeps its bytes. */
function withoutUsage(event: Json, data: string): Json | string {
  const isFirst = Object.keys(event)[0] === 'usage';
  return !isFirst && data.match(NO_USAGE)?.length === 1 ? withoutUsageText(data) : without(event, 'usage');
}

const withoutUsageText = (data: string): string => data.replace(NO_USAGE, '');
