import type { Request } from 'express';
import type { JsonSchema } from '../../core/untrusted/json-schema.ts';
import type { FieldError } from '../../core/untrusted/fields.ts';
import { Problem } from '../../runtime/problem.ts';

/** A query parameter: how it is read, and how OpenAPI describes it. */
export interface QueryParameter<T> {
  read(raw: string): T | { error: string };
  schema: JsonSchema;
  description: string;
  /** false: the values of a list are in one parameter, separated by commas. */
  explode?: false;
}

/** The values of a table of parameters. */
export type QueryOf<P extends Record<string, QueryParameter<unknown>>> = {
  [K in keyof P]?: P[K] extends QueryParameter<infer T> ? T : never;
};

/**
 * Reads the query parameters of the table. Throws one 400 that lists all invalid parameters. Absent parameters are absent in
 * the result. Unknown parameters are ignored.
 */
export function readQuery<P extends Record<string, QueryParameter<unknown>>>(
  request: Request,
  parameters: P,
): QueryOf<P> {
  const query = request.query as Record<string, string | string[] | undefined>;
  const values: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const [name, parameter] of Object.entries(parameters)) {
    const raw = query[name];
    if (raw === undefined) continue;
    const result = Array.isArray(raw) ? { error: 'is given more than once' } : parameter.read(raw);
    if (isError(result)) errors.push({ path: name, message: result.error });
    else values[name] = result;
  }
  if (errors.length > 0) throw new Problem(400, 'the query is not valid', { extra: { errors } });
  return values as QueryOf<P>;
}

function isError(result: unknown): result is { error: string } {
  return typeof result === 'object' && result !== null && 'error' in result;
}

/** The URL of the next page: the parameters of this request that the table has, and `changed`. */
export function nextPage(
  { path, query }: Request,
  parameters: Readonly<Record<string, unknown>>,
  changed: Readonly<Record<string, string>>,
): string {
  const kept = Object.entries(query).filter(
    (entry): entry is [string, string] => Object.hasOwn(parameters, entry[0]) && typeof entry[1] === 'string',
  );
  return `${path}?${new URLSearchParams({ ...Object.fromEntries(kept), ...changed }).toString()}`;
}

export function integerIn(min: number, max: number, description: string): QueryParameter<number> {
  return {
    read: (raw) => {
      const value = Number(raw);
      return /^\d{1,9}$/.test(raw) && value >= min && value <= max
        ? value
        : { error: `is not an integer from ${min} to ${max}` };
    },
    schema: { type: 'integer', minimum: min, maximum: max },
    description,
  };
}

export function oneOf<const V extends string>(values: readonly V[], description: string): QueryParameter<V> {
  return {
    read: (raw) => values.find((value) => value === raw) ?? { error: `is not one of ${values.join(', ')}` },
    schema: { type: 'string', enum: values },
    description,
  };
}

/** Some of the values, separated by commas; read in the order of the table. */
export function someOf<const V extends string>(
  values: readonly V[],
  description: string,
): QueryParameter<V[]> {
  return {
    read: (raw) => {
      const names = raw.split(',');
      return names.every((name) => values.some((value) => value === name))
        ? values.filter((value) => names.includes(value))
        : { error: `is not a list, separated by commas, of ${values.join(', ')}` };
    },
    schema: { type: 'array', minItems: 1, items: { type: 'string', enum: values } },
    description,
    explode: false,
  };
}

/** A text that `isValid` accepts; `what`: the noun of the error. */
export function matching(
  isValid: (raw: string) => boolean,
  about: { what: string; schema?: JsonSchema; description: string },
): QueryParameter<string> {
  return {
    read: (raw) => (isValid(raw) ? raw : { error: `is not ${about.what}` }),
    schema: { type: 'string', ...about.schema },
    description: about.description,
  };
}
