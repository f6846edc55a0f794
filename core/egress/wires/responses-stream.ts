import type { Json } from '../model-wire.ts';
import { isNoneLeft, type JudgedCall } from './judged-calls.ts';
import { argumentsOf, indexAt, nameAt, recordAt, stringAt } from './members.ts';
import { usageOf } from './model-usage.ts';
import { Renumbering } from './renumbering.ts';
import type { Repetition } from '../../usage/repeated-event.ts';
import { callIn, messageEvents, messageItem, outputOf } from './responses-items.ts';
import { CallEditor } from './stream-filter.ts';

/** Names under which calls are remembered: positions, and ids of items and calls. */
const MAX_KEYS = 5000;

/** Members of an event with text of the model, or without a meaning. */
const TEXTS: ReadonlySet<string> = new Set(['delta', 'obfuscation', 'sequence_number']);
const mayDiffer = (name: string): boolean => TEXTS.has(name);

/** The last event of a stream, and whether the message is written before it. */
const LAST: ReadonlyMap<string, boolean> = new Map([
  ['response.completed', true],
  ['response.incomplete', true],
  ['response.failed', false],
]);

/** Reads and writes streams of OpenAI's Responses. */
export class ResponsesEditor extends CallEditor {
  /** By position (`#0`), id of the item, and id of the call. */
  readonly #known = new Map<string, JudgedCall>();
  readonly #all: JudgedCall[] = [];
  readonly #positions = new Renumbering();
  #isReplaced = false;

  override read(event: Json): readonly JudgedCall[] {
    const type = stringAt(event, 'type') ?? '';
    const response = recordAt(event, 'response');
    if (response !== null) return this.#readResponse(response, type);
    const item = recordAt(event, 'item');
    const part = callIn(item);
    if (item !== null && part !== null) return [this.#readItem(event, item, type)];
    const index = indexAt(event, 'output_index');
    if (type === 'response.output_item.added' && index !== null && !this.isChanging)
      this.#positions.begin(index);
    const call = this.#callOf(event);
    if (call === null) return [];
    const text = stringAt(event, 'arguments') ?? stringAt(event, 'input');
    // Without a name the call ends with its item, which has the name.
    if (text !== null && type.endsWith('.done') && call.name !== '') this.calls.finish(call, text);
    else this.calls.add(call, { id: null, name: null, arguments: stringAt(event, 'delta') });
    return [call];
  }

  override write(event: Json, calls: readonly JudgedCall[]): readonly Json[] | null {
    const response = recordAt(event, 'response');
    if (response !== null) return this.#writeResponse(event, response, calls);
    const index = indexAt(event, 'output_index');
    if (calls[0]?.decision === 'remove') {
      this.#positions.drop();
      return [];
    }
    if (index === null) return null;
    const isBegin = stringAt(event, 'type') === 'response.output_item.added';
    const position = isBegin ? this.#positions.begin(index) : this.#positions.of(index);
    return position === index ? null : [{ ...event, output_index: position }];
  }

  repetition(event: Json): Repetition | null {
    const isText = (stringAt(event, 'type') ?? '').endsWith('.delta');
    const isPart = isText && recordAt(event, 'response') === null && recordAt(event, 'item') === null;
    return isPart && !this.isChanging ? { mayDiffer, edit: null } : null;
  }

  /** The call that an event without an item belongs to. */
  #callOf(event: Json): JudgedCall | null {
    const index = indexAt(event, 'output_index');
    const id = nameAt(event, 'item_id');
    const byIndex = index === null ? undefined : this.#known.get(`#${index}`);
    return byIndex ?? (id === null ? undefined : this.#known.get(id)) ?? null;
  }

  #readItem(event: Json, item: Json, type: string): JudgedCall {
    const part = callIn(item) ?? { id: null, name: null, arguments: null };
    const index = indexAt(event, 'output_index');
    const key = index === null ? nameAt(item, 'id') : `#${index}`;
    const isBegin = type === 'response.output_item.added';
    const known = isBegin || key === null ? undefined : this.#known.get(key);
    // A done item repeats the whole call: what is known of the name does not continue.
    const isSame =
      known !== undefined && (known.name === '' || part.name === null || known.name === part.name);
    const call = isSame ? known : this.calls.start({ ...part, arguments: null });
    if (isSame) this.calls.add(call, { ...part, arguments: null });
    else this.#remember(call, [key, nameAt(item, 'id'), nameAt(item, 'call_id')]);
    if (type === 'response.output_item.done') this.calls.finish(call, part.arguments);
    if (isBegin && index !== null && !this.isChanging) this.#positions.begin(index);
    return call;
  }

  #remember(call: JudgedCall, keys: readonly (string | null)[]): void {
    if (this.#all.at(-1) !== call) this.#all.push(call);
    for (const key of keys)
      if (key !== null && (this.#known.size < MAX_KEYS || this.#known.has(key))) this.#known.set(key, call);
  }

  #readResponse(response: Json, type: string): readonly JudgedCall[] {
    this.facts.model ??= nameAt(response, 'model');
    this.facts.usage = usageOf('responses', response) ?? this.facts.usage;
    if (LAST.has(type)) {
      this.calls.finishAll();
      this.facts.isComplete = LAST.get(type) === true;
    }
    return outputOf(response).flatMap((item) => this.#callOfItem(item) ?? []);
  }

  /** The call of an item in a whole response. A call that the stream did not have is judged here. */
  #callOfItem(item: unknown): JudgedCall | null {
    const part = callIn(item);
    if (part === null) return null;
    const known = part.id === null ? undefined : this.#known.get(part.id);
    if (known !== undefined && (known.name === part.name || part.name === null)) return known;
    if (this.calls.isFull) return this.calls.start(part);
    const call = this.calls.whole({ ...part, arguments: argumentsOf(part.arguments) });
    this.#remember(call, [part.id]);
    return call;
  }

  #writeResponse(event: Json, response: Json, calls: readonly JudgedCall[]): readonly Json[] | null {
    const output = outputOf(response);
    const ofCalls = calls[Symbol.iterator]();
    const left = output.filter(
      (item) => callIn(item) === null || ofCalls.next().value?.decision !== 'remove',
    );
    const type = stringAt(event, 'type') ?? '';
    const isLast = LAST.get(type) === true && isNoneLeft(this.#all);
    if (!isLast) return left.length === output.length ? null : [withOutput(event, response, left)];
    const item = messageItem(response, this.message);
    const last = withOutput(event, response, [...left, item]);
    if (this.#isReplaced) return [last];
    this.#isReplaced = true;
    const sequence = indexAt(event, 'sequence_number');
    const events = messageEvents(item, this.#positions.add(), this.message, sequence);
    return [...events, sequence === null ? last : { ...last, sequence_number: sequence + events.length }];
  }
}

function withOutput(event: Json, response: Json, output: readonly unknown[]): Json {
  return { ...event, response: { ...response, output } };
}
