import { own } from '../../untrusted/fields.ts';
import type { Json } from '../model-wire.ts';
import { isNoneLeft, NOT_A_CALL, type JudgedCall } from './judged-calls.ts';
import { indexAt, nameAt, recordAt, recordsIn, stringAt } from './members.ts';
import { usageOf } from './model-usage.ts';
import { Renumbering } from './renumbering.ts';
import { CallEditor } from './stream-filter.ts';

/** Calls that are open at the same time. */
const MAX_OPEN = 1000;

/** The reason for the end of a response that has no calls any more. */
export const reasonWithoutCalls = (reason: unknown): unknown =>
  reason === 'TOOL_CALL' ? 'COMPLETE' : reason;

/** Reads and writes Cohere's streams. Calls and contents are numbered apart. */
export class CohereEditor extends CallEditor {
  /** Calls that have not ended, by their index. */
  readonly #open = new Map<number | null, JudgedCall>();
  readonly #all: JudgedCall[] = [];
  readonly #positions = new Renumbering();
  #contents = 0;
  #isReplaced = false;

  override read(event: Json): readonly JudgedCall[] {
    const type = stringAt(event, 'type') ?? '';
    const index = indexAt(event);
    if (type.startsWith('tool-call-')) return this.#readCall(event, type, index);
    if (type === 'content-start') this.#contents = Math.max(this.#contents, (index ?? 0) + 1);
    if (type === 'message-end') {
      this.calls.finishAll();
      const delta = recordAt(event, 'delta');
      this.facts.usage = usageOf('cohere', delta);
      this.facts.isComplete = stringAt(delta, 'finish_reason') !== null;
    }
    return [];
  }

  override write(event: Json, [call]: readonly JudgedCall[]): readonly Json[] | null {
    const type = stringAt(event, 'type') ?? '';
    const index = indexAt(event);
    if (call?.decision === 'remove') {
      this.#positions.drop();
      return [];
    }
    if (type.startsWith('tool-call-') && index !== null) {
      const isBegin = type === 'tool-call-start';
      const position = isBegin ? this.#positions.begin(index) : this.#positions.of(index);
      return position === index ? null : [{ ...event, index: position }];
    }
    const delta = recordAt(event, 'delta');
    if (type !== 'message-end' || delta === null || !isNoneLeft(this.#all)) return null;
    const reason = reasonWithoutCalls(own(delta, 'finish_reason'));
    const last = { ...event, delta: { ...delta, finish_reason: reason } };
    if (this.#isReplaced) return [last];
    this.#isReplaced = true;
    return [...contentEvents(this.#contents, this.message), last];
  }

  #readCall(event: Json, type: string, index: number | null): readonly JudgedCall[] {
    const entry = callIn(event);
    const definition = recordAt(entry, 'function');
    const part = {
      id: nameAt(entry, 'id'),
      name: nameAt(definition, 'name'),
      arguments: stringAt(definition, 'arguments'),
    };
    const known = this.#open.get(index);
    if (type === 'tool-call-start') {
      const call = this.calls.start(part);
      if (this.#all.at(-1) !== call) this.#all.push(call);
      if (this.#open.size < MAX_OPEN || known !== undefined) this.#open.set(index, call);
      if (index !== null && !this.isChanging) this.#positions.begin(index);
      return [call];
    }
    if (known === undefined) return [NOT_A_CALL];
    this.calls.add(known, part);
    if (type === 'tool-call-end') {
      this.#open.delete(index);
      this.calls.finish(known);
    }
    return [known];
  }
}

/** The call in an event: an object, or a list with one. */
function callIn(event: Json): Json | null {
  const message = recordAt(recordAt(event, 'delta'), 'message');
  const calls = message === null ? null : own(message, 'tool_calls');
  return recordsIn(Array.isArray(calls) ? calls : [calls])[0] ?? null;
}

function contentEvents(index: number, text: string): readonly Json[] {
  const delta = (content: Json): Json => ({ message: { content } });
  return [
    { type: 'content-start', index, delta: delta({ type: 'text', text: '' }) },
    { type: 'content-delta', index, delta: delta({ text }) },
    { type: 'content-end', index },
  ];
}
