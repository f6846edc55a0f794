import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json, ModelRequest, ModelWire } from '../model-wire.ts';
import type { CallPart, JudgedCall } from './judged-calls.ts';
import { callIn, contentWith } from './chat-messages.ts';
import {
  addedMessages,
  distinct,
  indexAt,
  limitAt,
  listAt,
  nameAt,
  recordAt,
  recordsAt,
  stringAt,
  without,
} from './members.ts';
import { usageOf } from './model-usage.ts';
import { Renumbering } from './renumbering.ts';
import { CallEditor, createStreamFilter } from './stream-filter.ts';
import { OLLAMA_ERRORS } from './vendor-errors.ts';
import { wholeResponse } from './whole-response.ts';

/** Ollama's own chat: its streams are lines of JSON, and its calls are whole. */
export const OLLAMA: ModelWire = {
  name: 'ollama',
  readRequest,
  createFilter: (options) => createStreamFilter(new OllamaEditor(options)),
  ...wholeResponse('ollama', {
    entriesOf,
    callIn: partIn,
    isComplete: (body) => own(body, 'done') === true,
    withEntries(body, kept, text) {
      const left = messageWith(body, kept);
      const content = text === null ? own(left, 'content') : contentWith(own(left, 'content'), text);
      return { ...body, message: { ...left, content } };
    },
  }),
  ...OLLAMA_ERRORS,
};

function readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest {
  const tools = recordsAt(body, 'tools');
  return {
    model: route.model ?? nameAt(body, 'model'),
    // A stream is the default.
    isStream: own(body, 'stream') !== false,
    toolsOffered: distinct(tools.map((tool) => nameAt(recordAt(tool, 'function') ?? tool, 'name'))),
    vendorTools: [],
    toolResults: toolResultsOf(recordsAt(body, 'messages')),
    maxOutputTokens: limitAt(recordAt(body, 'options'), 'num_predict'),
    isStateful: false,
  };
}

function toolResultsOf(messages: readonly Json[]): ModelRequest['toolResults'] {
  const added = addedMessages(messages, (message) => stringAt(message, 'role') === 'assistant');
  const [first] = added;
  const before = first === undefined ? undefined : messages[messages.indexOf(first) - 1];
  const called = before === undefined ? [] : recordsAt(before, 'tool_calls');
  return added
    .filter((message) => stringAt(message, 'role') === 'tool')
    .map((message, position) => {
      const callId = nameAt(message, 'tool_call_id');
      const name = nameAt(message, 'tool_name') ?? nameAt(message, 'name');
      if (name !== null) return { callId, name };
      // LangChain sends neither names nor ids, and LiteLLM ids of its own. Results are in the order of the calls.
      const call = called.find(({ id }) => callId !== null && id === callId) ?? called[position];
      return { callId, name: call === undefined ? null : nameAt(recordAt(call, 'function') ?? {}, 'name') };
    });
}

function entriesOf(body: Json): readonly unknown[] {
  return listAt(recordAt(body, 'message'), 'tool_calls') ?? [];
}

/** An entry that is not a call, and therefore has no name, stays. */
function partIn(entry: unknown): CallPart {
  return callIn(entry) ?? { id: null, name: null, arguments: null };
}

/** The message with these calls. */
function messageWith(body: Json, calls: readonly unknown[]): Json {
  const message = recordAt(body, 'message') ?? {};
  return calls.length === 0 ? without(message, 'tool_calls') : { ...message, tool_calls: calls };
}

class OllamaEditor extends CallEditor {
  readonly #decisions = new Set<string>();
  readonly #positions = new Renumbering();
  #isReplaced = false;

  override read(event: Json): readonly JudgedCall[] {
    this.facts.model ??= nameAt(event, 'model');
    this.facts.usage = usageOf('ollama', event) ?? this.facts.usage;
    this.facts.isComplete ||= own(event, 'done') === true;
    return entriesOf(event).map((entry) => {
      const call = this.calls.whole(partIn(entry));
      const index = positionOf(entry);
      if (index !== null && !this.isChanging) this.#positions.begin(index);
      this.#decisions.add(call.decision);
      return call;
    });
  }

  override write(event: Json, calls: readonly JudgedCall[]): readonly Json[] | null {
    const entries = entriesOf(event);
    const kept = entries.flatMap((entry, index) => this.#kept(entry, calls[index]));
    const isSame = kept.length === entries.length && kept.every((entry, index) => entry === entries[index]);
    const changed = isSame ? event : { ...event, message: messageWith(event, kept) };
    const isLast = own(event, 'done') === true;
    const isNone = this.#decisions.has('remove') && !this.#decisions.has('pass');
    if (isLast && isNone && !this.#isReplaced) {
      this.#isReplaced = true;
      return [this.#textEvent(event), changed];
    }
    if (isSame) return null;
    const message = messageWith(event, kept);
    const isEmpty = kept.length === 0 && !isLast && (stringAt(message, 'content') ?? '') === '';
    return isEmpty && (stringAt(message, 'thinking') ?? '') === '' ? [] : [changed];
  }

  /** []: removed. */
  #kept(entry: unknown, call: JudgedCall | undefined): unknown[] {
    if (call?.decision === 'remove') {
      this.#positions.drop();
      return [];
    }
    const index = positionOf(entry);
    if (index === null || !isRecord(entry)) return [entry];
    const position = this.#positions.begin(index);
    return [
      position === index
        ? entry
        : { ...entry, function: { ...recordAt(entry, 'function'), index: position } },
    ];
  }

  #textEvent(event: Json): Json {
    const [model, at] = [own(event, 'model'), own(event, 'created_at')];
    return {
      ...(model !== undefined && { model }),
      ...(at !== undefined && { created_at: at }),
      message: { role: 'assistant', content: this.message },
      done: false,
    };
  }
}

/** Newer versions number the calls of a response. */
function positionOf(entry: unknown): number | null {
  const definition = isRecord(entry) ? recordAt(entry, 'function') : null;
  return definition === null ? null : indexAt(definition);
}
