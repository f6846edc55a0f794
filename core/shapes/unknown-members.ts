import { isRecord, own, type FieldError } from '../untrusted/fields.ts';
import type { JsonSchema } from '../untrusted/json-schema.ts';

/** The members that a schema does not have, for documents in which a misspelled member must not be ignored. */
export function unknownMembers(value: unknown, schema: JsonSchema, path: string): FieldError[] {
  const { properties, items } = schema as { properties?: Record<string, JsonSchema>; items?: JsonSchema };
  if (Array.isArray(value) && items !== undefined)
    return value.flatMap((each, index) => unknownMembers(each, items, `${path}[${index}]`));
  if (!isRecord(value) || properties === undefined) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    const of = own(properties, key) as JsonSchema | undefined;
    const below = path === '' ? key : `${path}.${key}`;
    if (of !== undefined) return unknownMembers(each, of, below);
    const known = Object.keys(properties).join(', ');
    return [{ path: below, message: `is not known; the members are ${known}` }];
  });
}
