import { cut, fail, INVALID, type FieldError } from '../untrusted/fields.ts';
import { orNull, type JsonSchema } from '../untrusted/json-schema.ts';

/**
 * A part of a wire format: parses untrusted JSON into a typed value, and has the JSON Schemas of what it accepts and of what it
 * returns. Parsers add all errors at once. INVALID without an error: a value that only a newer version knows.
 */
export interface Field<T> {
  (value: unknown, path: string, errors: FieldError[]): T | typeof INVALID;
  /** The accepted values, with limits and defaults; null means the same as an absent member. */
  readonly schema: JsonSchema;
  /** The parsed values, as they are stored and sent: closed objects, without the nulls that stand for a default. */
  readonly returns: JsonSchema;
}

/** A member that may be absent. null means the same, and is left out. */
export interface OptionalField<T> extends Field<T> {
  readonly isOptional: true;
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: FieldError[] };

type Parse<T> = (value: unknown, path: string, errors: FieldError[]) => T | typeof INVALID;
type Make = () => JsonSchema;

interface Made {
  accepted: Make;
  returned: Make;
}

const memoized = (key: 'schema' | 'returns', make: (made: Made) => JsonSchema): PropertyDescriptor => ({
  get(this: Made) {
    const value = make(this);
    Object.defineProperty(this, key, { value });
    return value;
  },
});

/** Schemas are made at their first use, because most processes serve no document. */
const FIELD = Object.create(Function.prototype, {
  schema: memoized('schema', ({ accepted }) => accepted()),
  returns: memoized('returns', ({ returned }) => returned()),
}) as object;

/** A field from its parts. `parse` must be a new function. */
export function fieldOf<T>(parse: Parse<T>, accepted: Make, returned: Make = accepted): Field<T> {
  Object.setPrototypeOf(parse, FIELD);
  return Object.assign(parse, { accepted, returned }) as unknown as Field<T>;
}

/** The parsed value, or all errors. */
export function parseWith<T>(field: Field<T>, value: unknown): Parsed<T> {
  const errors: FieldError[] = [];
  const result = field(value, '', errors);
  return result === INVALID ? { ok: false, errors } : { ok: true, value: result };
}

/** A text: with `max`, 1 to `max` characters; with `cut`, any text, which is cut. */
export function text(
  description: string,
  { max, cut: kept }: { max?: number; cut?: number } = {},
): Field<string> {
  const limits = max === undefined ? {} : { minLength: 1, maxLength: max, pattern: String.raw`\S` };
  return fieldOf(
    (value, path, errors) => {
      if (typeof value !== 'string') return fail(errors, path, 'must be a string');
      if (kept !== undefined) return cut(value, kept);
      if (max === undefined) return value;
      if (value.trim() === '') return fail(errors, path, 'must not be empty');
      return value.length <= max ? value : fail(errors, path, `must have at most ${max} characters`);
    },
    () => ({ description, type: 'string', ...limits }),
    () => ({ description, type: 'string' }),
  );
}

/** A text that the pattern matches. `wanted`: the end of the error "must be ...". */
export function matching(
  description: string,
  { pattern, wanted }: { pattern: RegExp; wanted: string },
): Field<string> {
  return fieldOf(
    (value, path, errors) =>
      typeof value === 'string' && pattern.test(value) ? value : fail(errors, path, `must be ${wanted}`),
    () => ({ description, type: 'string', pattern: pattern.source }),
    () => ({ description, type: 'string' }),
  );
}

/** One of the values. */
export function oneOf<const V extends string | number | boolean>(
  description: string,
  values: readonly V[],
): Field<V> {
  const type = { string: 'string', number: 'integer', boolean: 'boolean' }[
    typeof values[0] as 'string' | 'number' | 'boolean'
  ];
  return fieldOf(
    (value, path, errors) => {
      const found = values.find((candidate) => candidate === value);
      return found ?? fail(errors, path, `must be one of ${values.join(', ')}`);
    },
    () => ({ description, type, enum: values }),
  );
}

/** One of the values. A list drops the entries with another text, because a newer sender may have more values. */
export function known<const V extends string>(description: string, values: readonly V[]): Field<V> {
  return fieldOf(
    (value, path, errors) =>
      typeof value === 'string'
        ? (values.find((candidate) => candidate === value) ?? INVALID)
        : fail(errors, path, 'must be a string'),
    () => ({
      description: `${description} One of ${values.join(', ')}; others are dropped.`,
      type: 'string',
    }),
    () => ({ description, type: 'string', enum: values }),
  );
}

export function flag(description: string): Field<boolean> {
  return fieldOf(
    (value, path, errors) =>
      typeof value === 'boolean' ? value : fail(errors, path, 'must be true or false'),
    () => ({ description, type: 'boolean' }),
  );
}

/** `max`: the largest value that makes sense. `limit`: only protects sums, so it is not part of what is returned. */
interface Range {
  min: number;
  max?: number;
  limit?: number;
}

/** A finite number in the range, bounds included. */
export function number(description: string, { min, max, limit }: Range): Field<number> {
  const most = max ?? limit ?? Number.MAX_VALUE;
  return fieldOf(
    (value, path, errors) =>
      typeof value === 'number' && value >= min && value <= most
        ? value
        : fail(errors, path, `must be a number from ${min} to ${most}`),
    () => ({ description, type: 'number', minimum: min, maximum: most }),
    () => ({ description, type: 'number', minimum: min, ...(max !== undefined && { maximum: max }) }),
  );
}

export function integer(description: string, { min, max, limit }: Range): Field<number> {
  const most = max ?? limit;
  const maximum = most ?? Number.MAX_SAFE_INTEGER;
  const wanted = most === undefined ? `of at least ${min}` : `from ${min} to ${most}`;
  return fieldOf(
    (value, path, errors) =>
      Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= maximum
        ? (value as number)
        : fail(errors, path, `must be an integer ${wanted}`),
    () => ({ description, type: 'integer', minimum: min, maximum }),
    () => ({ description, type: 'integer', minimum: min, ...(max !== undefined && { maximum: max }) }),
  );
}

export const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Length of `2026-03-01T12:00:00.000Z`. Years outside 0..9999 are longer, and other programs cannot parse them. */
const ISO_LENGTH = 24;

/** ISO 8601 with a time zone, normalised to UTC with milliseconds. */
export function isoTime(description: string): Field<string> {
  return fieldOf(
    (value, path, errors) => {
      const at = typeof value === 'string' && ISO_TIME.test(value) ? Date.parse(value) : Number.NaN;
      const time = Number.isNaN(at) ? '' : new Date(at).toISOString();
      if (time.length !== ISO_LENGTH) return fail(errors, path, 'must be an ISO 8601 time with a time zone');
      return isCalendarDay(value as string) ? time : fail(errors, path, 'must be a valid calendar date');
    },
    () => ({ description, type: 'string', format: 'date-time' }),
  );
}

/** Needed because JavaScript parses February 30 as March 2. */
function isCalendarDay(time: string): boolean {
  const day = time.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day;
}

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

/** Parses `null` and an absent member as null. */
export function nullable<T>(of: Field<T>): Field<T | null> {
  return fieldOf(
    (value, path, errors) => (isAbsent(value) ? null : of(value, path, errors)),
    () => orNull(of.schema),
    () => orNull(of.returns),
  );
}

/** Parses `null` and an absent member as `fallback`. */
export function withDefault<T>(of: Field<T>, fallback: T): Field<T> {
  return fieldOf(
    (value, path, errors) => (isAbsent(value) ? fallback : of(value, path, errors)),
    () => ({ ...orNull(of.schema), default: fallback }),
    () => of.returns,
  );
}

/** A field that parses like another one, with other schemas. */
export function like<T>(of: Field<T>, returned: Make, accepted = (): JsonSchema => of.schema): Field<T> {
  return fieldOf<T>((value, path, errors) => of(value, path, errors), accepted, returned);
}

/** A member that may be absent or null. */
export function optional<T>(of: Field<T>): OptionalField<T> {
  const field = like(
    of,
    () => of.returns,
    () => orNull(of.schema),
  );
  return Object.assign(field, { isOptional: true as const });
}

/** A path below the value, and what is wrong there. */
export type Problem = [path: string, message: string];

/** A field with further rules on its parsed value. */
export function checked<T>(of: Field<T>, problemsOf: (value: T) => Problem[]): Field<T> {
  return fieldOf<T>(
    (value, path, errors) => {
      const parsed = of(value, path, errors);
      if (parsed === INVALID) return INVALID;
      const problems = problemsOf(parsed);
      for (const [below, message] of problems)
        fail(errors, [path, below].filter((part) => part !== '').join('.'), message);
      return problems.length === 0 ? parsed : INVALID;
    },
    () => of.schema,
    () => of.returns,
  );
}

/** Parses as `from`, and returns what `map` makes of the value, which `to` describes. */
export function mapped<S, T>(from: Field<S>, to: Field<T>, map: (value: S) => T | typeof INVALID): Field<T> {
  return fieldOf(
    (value, path, errors) => {
      const parsed = from(value, path, errors);
      return parsed === INVALID ? INVALID : map(parsed);
    },
    () => from.schema,
    () => to.returns,
  );
}

/** Key of the name of a returned schema. It is a symbol, so that it is not a keyword of the schema. */
export const NAME: unique symbol = Symbol('name');

/** A field whose returned schema is a component of the OpenAPI documents, with this name. */
export function named<T>(name: string, of: Field<T>): Field<T> {
  return like(of, () => ({ ...of.returns, [NAME]: name }));
}

/** Key of the keywords that a returned schema has only in the CustomResourceDefinition. */
export const CRD: unique symbol = Symbol('crd');

/** A field with further keywords in the CustomResourceDefinition. undefined: without this keyword. */
export function inCrd<T>(of: Field<T>, keywords: JsonSchema): Field<T> {
  return like(of, () => ({
    ...of.returns,
    [CRD]: { ...(of.returns as { [CRD]?: JsonSchema })[CRD], ...keywords },
  }));
}
