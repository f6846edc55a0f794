/** A JSON Schema of the dialect 2020-12, which OpenAPI 3.1 uses. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Parts of the JSON Schemas of parameters and responses. */
export const TEXT: JsonSchema = { type: 'string' };

/** A schema of `SCHEMAS` by its name. */
export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });

/** The schema that also accepts null. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values, anyOf } = schema;
  // Null is already accepted.
  if (Array.isArray(type)) return schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...(anyOf as unknown[]), { type: 'null' }] };
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const all = Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {};
  return { ...schema, type: [type, 'null'], ...all };
}
