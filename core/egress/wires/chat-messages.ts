import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json, ModelRequest } from '../model-wire.ts';
import type { CallPart } from './judged-calls.ts';
import { addedMessages, argumentsOf, nameAt, recordAt, recordsAt, stringAt, withMessage } from './members.ts';

const isAssistant = (message: Json): boolean => stringAt(message, 'role') === 'assistant';

const RESULT_ROLES: ReadonlySet<string | null> = new Set(['tool', 'function']);

/** Also used for Cohere, whose messages have the same form. */
export function toolResultsOf(messages: readonly Json[]): ModelRequest['toolResults'] {
  const results = addedMessages(messages, isAssistant).filter((message) =>
    RESULT_ROLES.has(stringAt(message, 'role')),
  );
  if (results.length === 0) return [];
  const names = new Map<string | null, string | null>();
  for (const message of messages)
    for (const call of recordsAt(message, 'tool_calls'))
      names.set(nameAt(call, 'id'), nameAt(definitionOf(call), 'name'));
  return results.map((message) => {
    const callId = nameAt(message, 'tool_call_id');
    return {
      callId,
      name: nameAt(message, 'name') ?? (callId === null ? null : (names.get(callId) ?? null)),
    };
  });
}

/** The part of a tool or of a call that has the name. A `custom` entry may have an empty `function` as well. */
export function definitionOf(entry: Json): Json | null {
  const custom = recordAt(entry, 'custom');
  const plain = recordAt(entry, 'function');
  return stringAt(entry, 'type') === 'custom' ? (custom ?? plain) : (plain ?? custom);
}

/** A call in a message: of a function, of a `custom` tool, or OpenAI's earlier `function_call`. */
export function callIn(entry: unknown): CallPart | null {
  if (!isRecord(entry)) return null;
  const definition = definitionOf(entry) ?? entry;
  const text = own(definition, 'arguments') ?? own(definition, 'input');
  return { id: nameAt(entry, 'id'), name: nameAt(definition, 'name'), arguments: argumentsOf(text) };
}

/** Mistral and Cohere also write lists of parts. */
export function contentWith(content: unknown, message: string): unknown {
  if (Array.isArray(content)) return [...(content as unknown[]), { type: 'text', text: message }];
  return withMessage(typeof content === 'string' ? content : null, message);
}

const CALL_REASONS = new Set<unknown>(['tool_calls', 'function_call', 'tool_use']);

/** The reason for the end of a response that has no calls any more. */
export function reasonWithoutCalls(reason: unknown): unknown {
  return CALL_REASONS.has(reason) ? 'stop' : reason;
}
