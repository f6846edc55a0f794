import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json } from '../model-wire.ts';
import { isNoneLeft, type JudgedCall } from './judged-calls.ts';
import { argumentsText, indexAt, nameAt, recordAt, stringAt } from './members.ts';
import { usageOf } from './model-usage.ts';
import { Renumbering } from './renumbering.ts';
import type { Repetition } from '../../usage/repeated-event.ts';
import { CallEditor } from './stream-filter.ts';

/** Blocks that are open at the same time. */
const MAX_OPEN = 1000;

/** Members of an event with text of the model. */
const TEXTS: ReadonlySet<string> = new Set(['text', 'thinking']);
const mayDiffer = (name: string): boolean => TEXTS.has(name);

/** The counts of Anthropic's usage: the first event has those of the prompt, the last one can omit them. */
const COUNTS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
  'iterations',
] as const;

interface Block {
  call: JudgedCall;
  /** The arguments in the block's first event, if they are complete there; null: they follow. */
  input: string | null;
}

/** The reason for the end of a response that has no calls any more. */
export const reasonWithoutCalls = (reason: unknown): unknown => (reason === 'tool_use' ? 'end_turn' : reason);

/** Reads and writes streams of Anthropic's messages. */
export class AnthropicEditor extends CallEditor {
  /** Calls whose block is open, by the block's index. */
  readonly #open = new Map<number | null, Block>();
  readonly #all: JudgedCall[] = [];
  readonly #positions = new Renumbering();
  #counts: Record<string, unknown> = {};
  #isReplaced = false;

  override read(event: Json): readonly JudgedCall[] {
    const type = stringAt(event, 'type') ?? '';
    if (type.startsWith('content_block_')) return this.#readBlock(event, type);
    if (type === 'message_start') {
      const message = recordAt(event, 'message');
      this.facts.model ??= nameAt(message, 'model');
      this.#addCounts(recordAt(message, 'usage'));
    }
    if (type === 'message_delta') {
      this.calls.finishAll();
      this.#addCounts(recordAt(event, 'usage'));
      this.facts.usage = usageOf('anthropic', { usage: this.#counts });
      this.facts.isComplete ||= stringAt(recordAt(event, 'delta'), 'stop_reason') !== null;
    }
    if (type === 'message_stop') this.calls.finishAll();
    return [];
  }

  override write(event: Json, [call]: readonly JudgedCall[]): readonly Json[] | null {
    const type = stringAt(event, 'type') ?? '';
    const index = indexAt(event);
    if (call?.decision === 'remove') {
      this.#positions.drop();
      return [];
    }
    if (type === 'content_block_start' && index !== null) return moved(event, this.#positions.begin(index));
    if (type.startsWith('content_block_') && index !== null) return moved(event, this.#positions.of(index));
    const delta = recordAt(event, 'delta');
    const reason = stringAt(delta, 'stop_reason');
    if (type !== 'message_delta' || reason === null || !isNoneLeft(this.#all)) return null;
    const last = { ...event, delta: { ...delta, stop_reason: reasonWithoutCalls(reason) } };
    if (this.#isReplaced) return [last];
    this.#isReplaced = true;
    return [...textBlock(this.#positions.add(), this.message), last];
  }

  repetition(event: Json): Repetition | null {
    return !this.isChanging && stringAt(event, 'type') === 'content_block_delta'
      ? { mayDiffer, edit: null }
      : null;
  }

  #readBlock(event: Json, type: string): readonly JudgedCall[] {
    const index = indexAt(event);
    if (type === 'content_block_start') {
      const calls = this.#start(recordAt(event, 'content_block'), index);
      if (!this.isChanging && index !== null) this.#positions.begin(index);
      return calls;
    }
    const block = this.#open.get(index);
    if (block === undefined) return [];
    const { call, input } = block;
    if (type === 'content_block_stop') {
      this.#open.delete(index);
      this.calls.finish(call, input);
    } else {
      const text = stringAt(recordAt(event, 'delta'), 'partial_json');
      if (text !== null && text !== '') block.input = null;
      this.calls.add(call, { id: null, name: null, arguments: text });
    }
    return [call];
  }

  #start(block: Json | null, index: number | null): readonly JudgedCall[] {
    if (stringAt(block, 'type') !== 'tool_use' || block === null) return [];
    const call = this.calls.start({ id: nameAt(block, 'id'), name: nameAt(block, 'name'), arguments: null });
    if (this.#all.at(-1) !== call) this.#all.push(call);
    const input = own(block, 'input');
    const isFilled = isRecord(input) && Object.keys(input).length > 0;
    if (this.#open.size < MAX_OPEN || this.#open.has(index))
      this.#open.set(index, { call, input: isFilled ? argumentsText(input) : null });
    return [call];
  }

  #addCounts(usage: Json | null): void {
    for (const name of usage === null ? [] : COUNTS) {
      const count = usage === null ? null : own(usage, name);
      if (count !== null && count !== undefined) this.#counts[name] = count;
    }
  }
}

/** null: the position is the same. */
function moved(event: Json, index: number): readonly Json[] | null {
  return indexAt(event) === index ? null : [{ ...event, index }];
}

function textBlock(index: number, text: string): readonly Json[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index },
  ];
}
