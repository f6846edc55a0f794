import { cut, isRecord, own } from '../../untrusted/fields.ts';
import type { Json } from '../model-wire.ts';
import { withLiterals } from './exact-json.ts';

/** UTF-16 units of a name, an id or a model. */
const MAX_NAME = 256;

/** A larger index is invalid. */
const MAX_INDEX = 2 ** 31;

/** The objects in a list; []: not a list. Other entries are left out. */
export function recordsIn(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return [];
  const entries = value as readonly unknown[];
  return entries.every(isRecord) ? entries : entries.filter(isRecord);
}

export function recordsAt(record: Json | null, key: string): readonly Json[] {
  return record === null ? [] : recordsIn(own(record, key));
}

/** The list, with entries of any kind; null: not a list. */
export function listAt(record: Json | null, key: string): readonly unknown[] | null {
  const value = record === null ? null : own(record, key);
  return Array.isArray(value) ? (value as unknown[]) : null;
}

export function recordAt(record: Json | null, key: string): Json | null {
  const value = record === null ? null : own(record, key);
  return isRecord(value) ? value : null;
}

/** The string of any length; null: not a string. */
export function stringAt(record: Json | null, key: string): string | null {
  const value = record === null ? null : own(record, key);
  return typeof value === 'string' ? value : null;
}

/** A name or an id, cut to 256 units; null: not a string, or empty. */
export function nameAt(record: Json | null, key: string): string | null {
  const text = stringAt(record, key);
  return text === null || text === '' ? null : cut(text, MAX_NAME);
}

/** A position in a list; null: absent or invalid. */
export function indexAt(record: Json, key = 'index'): number | null {
  const value = own(record, key);
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < MAX_INDEX
    ? (value as number)
    : null;
}

/** A positive number of tokens; null: absent or invalid. */
export function limitAt(record: Json | null, ...keys: readonly string[]): number | null {
  for (const key of keys) {
    const value = record === null ? null : own(record, key);
    if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  }
  return null;
}

/** Copies the object without one member. */
export function without(record: Json, key: string): Json {
  const { [key]: _, ...rest } = record;
  return rest;
}

/** The value as JSON text; null: it is nested too deeply, or it is not a JSON value. */
export function jsonText(value: unknown): string | null {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? null : withLiterals(text);
  } catch {
    return null;
  }
}

/** Not JSON, so that no schema accepts it. */
const NOT_JSON = 'NaN';

/** The value as JSON text, but text that is not JSON if a number is infinite: it would be written as null. null: as `jsonText`. */
export function argumentsText(value: unknown): string | null {
  const text = jsonText(value);
  return text?.includes('null') === true && hasInfinite(value) ? NOT_JSON : text;
}

function hasInfinite(value: unknown): boolean {
  let isFound = false;
  JSON.stringify(value, (_key, member: unknown) => {
    isFound ||= typeof member === 'number' && !Number.isFinite(member);
    return member;
  });
  return isFound;
}

/** The arguments of a call as text: vendors send JSON text or an object. null: they cannot be written. */
export function argumentsOf(value: unknown): string | null {
  if (value === undefined || value === null || value === '') return '{}';
  return typeof value === 'string' ? value : argumentsText(value);
}

/** `text`, and `message` as a paragraph below it. */
export function withMessage(text: string | null, message: string): string {
  return text === null || text === '' ? message : `${text}\n\n${message}`;
}

/** The messages after the last one of the model. A text of the model at the very end, which it has to continue, is left out. */
export function addedMessages(
  messages: readonly Json[],
  isOfModel: (message: Json) => boolean,
): readonly Json[] {
  const last = messages.findLastIndex((message) => !isOfModel(message));
  const before = messages.findLastIndex((message, index) => index <= last && isOfModel(message));
  return messages.slice(before + 1, last + 1);
}

/** A list of so few names is searched, which is cheaper than a Set. */
const FEW = 16;

/** Without repetitions and missing names. */
export function distinct(names: readonly (string | null)[]): string[] {
  if (names.length > FEW) return [...new Set(names)].filter((name) => name !== null);
  const found: string[] = [];
  for (const name of names) if (name !== null && !found.includes(name)) found.push(name);
  return found;
}
