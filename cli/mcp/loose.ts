import * as z from 'zod';
import type { Field } from '../../core/shapes/field.ts';
import type { JsonSchema } from '../../core/untrusted/json-schema.ts';

/**
 * The zod types of the members of an object that another version returned. Closed lists are plain texts. Only the `required`
 * members are expected; all others, also the members of inner objects, may be absent or null.
 */
export function loose<T extends object>(
  { returns }: Field<T>,
  required: readonly (keyof T & string)[],
): z.ZodRawShape {
  return membersOf(returns, required);
}

function membersOf({ properties }: JsonSchema, required: readonly string[] = []): z.ZodRawShape {
  const rows = Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([key, schema]) => {
    const type = typeOf(schema);
    return [key, (required.includes(key) ? type : type.nullish()).describe(descriptionOf(schema))];
  });
  return Object.fromEntries(rows) as z.ZodRawShape;
}

function descriptionOf({ description, enum: values }: JsonSchema): string {
  const known = Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
  return `${String(description)}${known.length < 2 ? '' : ` One of ${known.join(', ')}.`}`;
}

function typeOf(schema: JsonSchema): z.ZodType {
  const [kind] = [schema['type']].flat();
  switch (kind) {
    case 'string':
      return z.string();
    case 'boolean':
      return z.boolean();
    case 'number':
    case 'integer':
      return z.number();
    case 'array':
      return z.array(typeOf(schema['items'] as JsonSchema));
    case 'object':
      return z.object(membersOf(schema));
    default:
      throw new Error(`no zod type for a schema of the type ${String(kind)}`);
  }
}
