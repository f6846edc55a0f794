import type { Request } from 'express';
import type { FieldError } from '../../core/untrusted/fields.ts';
import { Problem } from '../../runtime/problem.ts';

type Reader<T> = (raw: string) => T | { error: string };

/**
 * Reads the query parameters of `readers`. Throws one 400 that lists all invalid parameters. Absent parameters are absent in
 * the result. Unknown parameters are ignored.
 */
export function readQuery<T extends Record<string, unknown>>(
  request: Request,
  readers: { [K in keyof T]: Reader<T[K]> },
): Partial<T> {
  const query = request.query as Record<string, string | string[] | undefined>;
  const values: Partial<T> = {};
  const errors: FieldError[] = [];
  for (const name of Object.keys(readers) as (keyof T & string)[]) {
    const raw = query[name];
    if (raw === undefined) continue;
    const result = Array.isArray(raw) ? { error: 'is given more than once' } : readers[name](raw);
    if (isError(result)) errors.push({ path: name, message: result.error });
    else values[name] = result;
  }
  if (errors.length > 0) throw new Problem(400, 'the query is not valid', { extra: { errors } });
  return values;
}

function isError(result: unknown): result is { error: string } {
  return typeof result === 'object' && result !== null && 'error' in result;
}

export function integerIn(min: number, max: number): Reader<number> {
  return (raw) => {
    const value = Number(raw);
    return /^\d{1,9}$/.test(raw) && value >= min && value <= max
      ? value
      : { error: `is not an integer from ${min} to ${max}` };
  };
}

export function oneOf<const V extends string>(values: readonly V[]): Reader<V> {
  return (raw) => values.find((value) => value === raw) ?? { error: `is not one of ${values.join(', ')}` };
}

export function matching(isValid: (raw: string) => boolean, what: string): Reader<string> {
  return (raw) => (isValid(raw) ? raw : { error: `is not ${what}` });
}
