import { fail, INVALID, isRecord, own, type FieldError } from '../untrusted/fields.ts';
import type { JsonSchema } from '../untrusted/json-schema.ts';
import { CRD, fieldOf, named, optional, type Field, type OptionalField } from './field.ts';

/** A member that is not read: its value follows from the members that are. */
export interface ComputedField<T> extends Field<T> {
  readonly from: (members: never) => T | typeof INVALID;
}

/** Members by name. One whose name ends in `?` may be absent or null. */
export type Members = Readonly<Record<string, Field<unknown>>>;

/** The members by their plain names. */
type Plain<M> = {
  [K in keyof M as K extends `${infer Name}?` ? Name : K]: K extends `${string}?`
    ? OptionalField<TypeOf<M[K]>>
    : M[K];
};

/** The type of the values of a field. */
export type TypeOf<F> = F extends Field<infer T> ? T : never;

type Flat<T> = { [K in keyof T]: T[K] } & {};
type OptionalKeys<M> = { [K in keyof M]: M[K] extends OptionalField<unknown> ? K : never }[keyof M];

/** The type of an object with these members. */
export type ObjectOf<M> = Flat<
  { [K in Exclude<keyof M, OptionalKeys<M>>]: TypeOf<M[K]> } & { [K in OptionalKeys<M>]?: TypeOf<M[K]> }
>;

/** An object, whose members other shapes may share. */
export interface ObjectField<M> extends Field<ObjectOf<M>> {
  readonly members: M;
}

const isOptional = (field: Field<unknown>): boolean => 'isOptional' in field;
const isComputed = (field: Field<unknown>): field is ComputedField<unknown> => 'from' in field;

/**
 * An object with these members. Unknown members are ignored, because a newer sender may send more. Only own members are read,
 * so that a key such as `__proto__` is just an unknown key.
 */
export function object<M extends Members>(description: string, marked: M): ObjectField<Plain<M>> {
  const members = Object.fromEntries(
    Object.entries(marked).map(([name, field]) =>
      name.endsWith('?') ? [name.slice(0, -1), optional(field)] : [name, field],
    ),
  );
  const rows = Object.entries(members).map(([key, field]) => ({
    ...{ key, field, isOptional: isOptional(field), from: isComputed(field) ? field.from : null },
  }));
  const read = rows.filter(({ from }) => from === null);
  const computedRows = rows.filter(({ from }) => from !== null);
  const parse = (value: unknown, path: string, errors: FieldError[]): unknown => {
    if (!isRecord(value)) return fail(errors, path, 'must be an object');
    const result: Record<string, unknown> = {};
    let valid = true;
    for (const row of read) {
      const member = own(value, row.key);
      if (row.isOptional && (member === undefined || member === null)) continue;
      const parsed = row.field(member, path === '' ? row.key : `${path}.${row.key}`, errors);
      if (parsed === INVALID) valid = false;
      else result[row.key] = parsed;
    }
    if (!valid) return INVALID;
    for (const { key, from } of computedRows) {
      const found = from?.(result as never);
      if (found === INVALID) return INVALID;
      result[key] = found;
    }
    return result;
  };
  const field = fieldOf(
    parse as Field<ObjectOf<Plain<M>>>,
    () => acceptedObject(description, members),
    () => returnedObject(description, members),
  );
  return Object.assign(field, { members: members as Plain<M> });
}

/** An object whose returned schema is a component of the OpenAPI documents, with this name. */
export function namedObject<M extends Members>(
  name: string,
  description: string,
  members: M,
): ObjectField<Plain<M>> {
  const of = object(description, members);
  return Object.assign(named(name, of), { members: of.members });
}

function acceptedObject(description: string, members: Members): JsonSchema {
  const read = Object.entries(members).filter(([, field]) => !isComputed(field));
  // Members with a default may be absent.
  const required = read.filter(([key, field]) => !isOptional(field) && field(undefined, key, []) === INVALID);
  return {
    description,
    type: 'object',
    ...(required.length > 0 && { required: required.map(([key]) => key) }),
    properties: Object.fromEntries(read.map(([key, { schema }]) => [key, schema])),
  };
}

function returnedObject(description: string, members: Members): JsonSchema {
  const rows = Object.entries(members);
  const required = rows.filter(([, field]) => !isOptional(field));
  return {
    description,
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required: required.map(([key]) => key) }),
    properties: Object.fromEntries(rows.map(([key, { returns }]) => [key, returns])),
  };
}

/** A member whose value is computed from the members that are read. INVALID: only a newer version knows it. */
export function computed<T, M>(of: Field<T>, from: (members: M) => T | typeof INVALID): ComputedField<T> {
  const field = fieldOf<T>(
    () => INVALID,
    () => of.schema,
    () => of.returns,
  );
  return Object.assign(field, { from });
}

/** The same members, all of them optional. */
export function partial<M extends Members>(members: M): { [K in keyof M]: OptionalField<TypeOf<M[K]>> } {
  const rows = Object.entries(members).map(([key, field]) => [key, optional(field)]);
  return Object.fromEntries(rows) as { [K in keyof M]: OptionalField<TypeOf<M[K]>> };
}

/**
 * A list of at most `max` entries. A longer list is an error; with `cut` the rest is dropped. Entries that only a newer version
 * knows are dropped as well. Without limits: only for lists that are returned. `key`: the member that tells the entries apart, of a
 * list whose entries several clients write.
 */
export function list<T>(
  description: string,
  of: Field<T>,
  { max = Infinity, cut = false, key }: { max?: number; cut?: boolean; key?: string } = {},
): Field<T[]> {
  const limit = max === Infinity ? {} : { maxItems: max };
  const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] };
  return fieldOf(
    (value, path, errors) => {
      if (!Array.isArray(value)) return fail(errors, path, 'must be a list');
      if (value.length > max && !cut) return fail(errors, path, `must have at most ${max} entries`);
      const found = errors.length;
      const kept: T[] = [];
      for (const [index, item] of (value as unknown[]).slice(0, max).entries()) {
        const parsed = of(item, `${path}[${index}]`, errors);
        if (parsed !== INVALID) kept.push(parsed);
      }
      return errors.length > found ? INVALID : kept;
    },
    () => ({ description, type: 'array', items: of.schema, ...(!cut && limit) }),
    () => ({ description, type: 'array', items: of.returns, ...limit, ...(key && { [CRD]: keyed }) }),
  );
}

/** An object with any keys, at most `max`, whose values are all of one kind. */
export function map<T>(
  description: string,
  of: Field<T>,
  { max }: { max: number },
): Field<Record<string, T>> {
  const about = { description, type: 'object', maxProperties: max };
  return fieldOf(
    (value, path, errors) => {
      if (!isRecord(value)) return fail(errors, path, 'must be an object');
      const entries = Object.entries(value);
      if (entries.length > max) return fail(errors, path, `must have at most ${max} members`);
      const parsed = entries.map(([key, each]) => [key, of(each, `${path}.${key}`, errors)] as const);
      if (parsed.some(([, each]) => each === INVALID)) return INVALID;
      return Object.fromEntries(parsed) as Record<string, T>;
    },
    () => ({ ...about, additionalProperties: of.schema }),
    () => ({ ...about, additionalProperties: of.returns }),
  );
}

/** A value of one of two kinds. The errors are those of the second. */
export function either<A, B>(description: string, first: Field<A>, second: Field<B>): Field<A | B> {
  return fieldOf<A | B>(
    (value, path, errors) => {
      const parsed = first(value, path, []);
      return parsed === INVALID ? second(value, path, errors) : parsed;
    },
    () => ({ description, anyOf: [first.schema, second.schema] }),
    () => ({ description, anyOf: [first.returns, second.returns] }),
  );
}

type VariantOf<V> = { [K in keyof V]: Flat<{ type: K } & ObjectOf<V[K]>> }[keyof V];

/** An object whose member `type` decides its other members. */
export function variants<V extends Readonly<Record<string, Members>>>(
  description: string,
  members: V,
): Field<VariantOf<V>> {
  const rows = new Map(Object.entries(members).map(([type, each]) => [type, object('', each)]));
  const schemaOf = (type: string, { description: _, required = [], ...schema }: JsonSchema): JsonSchema => ({
    title: type,
    ...schema,
    required: ['type', ...(required as string[])],
    properties: {
      type: { description: 'Decides the other members.', type: 'string', const: type },
      ...(schema['properties'] as object),
    },
  });
  const parse = (value: unknown, path: string, errors: FieldError[]): unknown => {
    if (!isRecord(value)) return fail(errors, path, 'must be an object');
    const type = own(value, 'type');
    const variant = typeof type === 'string' ? rows.get(type) : undefined;
    if (variant === undefined)
      return fail(errors, `${path}.type`, `must be one of ${[...rows.keys()].join(', ')}`);
    const parsed = variant(value, path, errors);
    return parsed === INVALID ? INVALID : { type, ...parsed };
  };
  return fieldOf(
    parse as Field<VariantOf<V>>,
    () => ({ description, anyOf: [...rows].map(([type, { schema }]) => schemaOf(type, schema)) }),
    () => ({ description, anyOf: [...rows].map(([type, { returns }]) => schemaOf(type, returns)) }),
  );
}
