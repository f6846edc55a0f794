import { orNull } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

/**
 * Parses untrusted JSON (heartbeats, event batches, proofs) into typed values and returns all errors at once. Only own, named
 * members are read, so a key such as `__proto__` is just an unknown key. Each parser has the JSON Schema of what it accepts.
 */
export interface FieldError {
  /** For example `gap.issues[3].severity`; empty for the document itself. */
  path: string;
  message: string;
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: FieldError[] };

export const INVALID: unique symbol = Symbol('invalid');

type Parse<T> = (value: unknown, path: string, errors: FieldError[]) => T | typeof INVALID;

/** Parser of one field: returns the typed value, or INVALID after adding at least one error. */
export interface Field<T> {
  (value: unknown, path: string, errors: FieldError[]): T | typeof INVALID;
  /** The values that the parser accepts, as a JSON Schema. */
  readonly schema: JsonSchema;
}

type Shape<T> = { [K in keyof T]: Field<T[K]> };

/** Limits the size of the error response for a body with very many errors. */
const MAX_ERRORS = 50;

/** A parser with its schema. `parse` must be a new function. */
export function described<T>(schema: JsonSchema, parse: Parse<T>): Field<T> {
  return Object.assign(parse, { schema });
}

export function parseWith<T>(field: Field<T>, value: unknown): Parsed<T> {
  const errors: FieldError[] = [];
  const result = field(value, '', errors);
  return result === INVALID ? { ok: false, errors } : { ok: true, value: result };
}

export function fail(errors: FieldError[], path: string, message: string): typeof INVALID {
  if (errors.length < MAX_ERRORS) errors.push({ path, message });
  return INVALID;
}

/** The parsed JSON text; undefined for a text that is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The own member `key`. Members of the prototype are not read. */
export function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Cuts the text to at most `max` UTF-16 units, without half a surrogate pair at the end. The rest does not stay in memory. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return detached(text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max));
}

/** Copies the string. V8 keeps the original string in memory as long as a slice of it exists. */
export function detached(part: string): string {
  return ` ${part}`.slice(1);
}

/** A string of 1..max characters. With `cut`, a longer string is cut and an empty string is accepted. */
export function text(options: { max: number; cut?: boolean }): Field<string> {
  const limits = options.cut ? {} : { minLength: 1, maxLength: options.max, pattern: String.raw`\S` };
  return described({ type: 'string', ...limits }, (value, path, errors) => {
    if (typeof value !== 'string') return fail(errors, path, 'must be a string');
    if (options.cut) return cut(value, options.max);
    if (value.trim() === '') return fail(errors, path, 'must not be empty');
    return value.length <= options.max
      ? value
      : fail(errors, path, `must have at most ${options.max} characters`);
  });
}

export function oneOf<const V extends string | number>(values: readonly V[]): Field<V> {
  const type = typeof values[0] === 'number' ? 'integer' : 'string';
  return described({ type, enum: values }, (value, path, errors) => {
    const found = values.find((candidate) => candidate === value);
    return found ?? fail(errors, path, `must be one of ${values.join(', ')}`);
  });
}

export const flag: Field<boolean> = described({ type: 'boolean' }, (value, path, errors) =>
  typeof value === 'boolean' ? value : fail(errors, path, 'must be true or false'),
);

/** A finite number in the range, bounds included. */
export function number(range: { min: number; max: number }): Field<number> {
  const schema = { type: 'number', minimum: range.min, maximum: range.max };
  return described(schema, (value, path, errors) =>
    typeof value === 'number' && value >= range.min && value <= range.max
      ? value
      : fail(errors, path, `must be a number from ${range.min} to ${range.max}`),
  );
}

export function integer(range: { min: number; max?: number }): Field<number> {
  const max = range.max ?? Number.MAX_SAFE_INTEGER;
  const wanted = `must be an integer ${range.max === undefined ? `of at least ${range.min}` : `from ${range.min} to ${max}`}`;
  return described({ type: 'integer', minimum: range.min, maximum: max }, (value, path, errors) =>
    Number.isSafeInteger(value) && (value as number) >= range.min && (value as number) <= max
      ? (value as number)
      : fail(errors, path, wanted),
  );
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Length of `2026-03-01T12:00:00.000Z`. Years outside 0..9999 are longer, and other programs cannot parse them. */
const ISO_LENGTH = 24;

/** ISO 8601 with a time zone, normalised to UTC with milliseconds. */
export const isoTime: Field<string> = described(
  { type: 'string', format: 'date-time' },
  (value, path, errors) => {
    const at = typeof value === 'string' && ISO_TIME.test(value) ? Date.parse(value) : Number.NaN;
    const time = Number.isNaN(at) ? '' : new Date(at).toISOString();
    if (time.length !== ISO_LENGTH) return fail(errors, path, 'must be an ISO 8601 time with a time zone');
    return isCalendarDay(value as string) ? time : fail(errors, path, 'must be a valid calendar date');
  },
);

/** Needed because JavaScript parses February 30 as March 2. */
function isCalendarDay(time: string): boolean {
  const day = time.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day;
}

/** A list of at most `max` entries. A longer list is an error, or is cut if `cut` is set. */
export function list<T>(of: Field<T>, options: { max: number; cut?: boolean }): Field<T[]> {
  const limit = options.cut ? {} : { maxItems: options.max };
  return described({ type: 'array', items: of.schema, ...limit }, (value, path, errors) => {
    if (!Array.isArray(value)) return fail(errors, path, 'must be a list');
    if (value.length > options.max && !options.cut)
      return fail(errors, path, `must have at most ${options.max} entries`);
    const kept = (value as unknown[]).slice(0, options.max);
    const items = kept.map((item, index) => of(item, `${path}[${index}]`, errors));
    return items.includes(INVALID) ? INVALID : (items as T[]);
  });
}

/** Parses `null` and an absent member as null. */
export function nullable<T>(of: Field<T>): Field<T | null> {
  return described(orNull(of.schema), (value, path, errors) =>
    value === undefined || value === null ? null : of(value, path, errors),
  );
}

export function withDefault<T>(of: Field<T>, fallback: T): Field<T> {
  return described({ ...orNull(of.schema), default: fallback }, (value, path, errors) =>
    value === undefined || value === null ? fallback : of(value, path, errors),
  );
}

/**
 * An object with `required` and `optional` members. Optional members that are absent or null are left out. Unknown members
 * are ignored, because a newer sender may send more members.
 */
export function object<R extends object, O extends object = object>(
  required: Shape<R>,
  optional?: Shape<O>,
): Field<R & Partial<O>> {
  return described(objectSchema(required, optional ?? {}), (value, path, errors) => {
    if (!isRecord(value)) return fail(errors, path, 'must be an object');
    const result: Record<string, unknown> = {};
    let valid = true;
    const read = (key: string, field: Field<unknown>, member: unknown): void => {
      const parsed = field(member, path === '' ? key : `${path}.${key}`, errors);
      if (parsed === INVALID) valid = false;
      else result[key] = parsed;
    };
    for (const [key, field] of Object.entries<Field<unknown>>(required)) read(key, field, own(value, key));
    for (const [key, field] of Object.entries<Field<unknown>>(optional ?? {})) {
      const member = own(value, key);
      if (member !== undefined && member !== null) read(key, field, member);
    }
    return valid ? (result as R & Partial<O>) : INVALID;
  });
}

type Members = Readonly<Record<string, Field<unknown>>>;

function objectSchema(required: Members, optional: Members): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const needed: string[] = [];
  for (const [key, field] of Object.entries(required)) {
    properties[key] = field.schema;
    // Members with a default may be absent.
    if (field(undefined, key, []) === INVALID) needed.push(key);
  }
  for (const [key, { schema }] of Object.entries(optional)) properties[key] = orNull(schema);
  return { type: 'object', ...(needed.length > 0 && { required: needed }), properties };
}
