import { isRecord } from '../untrusted/fields.ts';
import { orNull, ref, type JsonSchema } from '../untrusted/json-schema.ts';
import { NAME, type Field } from './field.ts';

const nameOf = (schema: object): unknown => (schema as { [NAME]?: unknown })[NAME];

/** The components of an OpenAPI document for the values that these named fields return. */
export function responseSchemas(fields: readonly Field<unknown>[]): Record<string, JsonSchema> {
  return Object.fromEntries(
    fields.map(({ returns }) => {
      const name = nameOf(returns);
      if (typeof name !== 'string') throw new Error('a component of the document has no name');
      return [name, withReferences(returns)];
    }),
  );
}

/** The schema with references instead of the named schemas in it. */
function withReferences(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, referenced(part)]));
}

function referenced(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(referenced);
  if (!isRecord(part)) return part;
  const name = nameOf(part);
  if (typeof name !== 'string') return withReferences(part);
  return Array.isArray(part['type']) ? orNull(ref(name)) : ref(name);
}
