/** A JSON Schema of the dialect 2020-12, which OpenAPI 3.1 uses. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Parts of JSON Schemas. The tables of `core/openapi/schemas/` and the validators are made from them. */
export const TEXT: JsonSchema = { type: 'string' };
export const COUNT: JsonSchema = { type: 'integer', minimum: 0 };

type Members = Readonly<Record<string, JsonSchema>>;

/** A schema of `SCHEMAS` by its name. */
export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

export const enumOf = (values: readonly string[]): JsonSchema => ({ type: 'string', enum: values });

export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });

/** An object with these members and no others. */
export const closed = (required: Members, optional: Members = {}): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  ...(Object.keys(required).length > 0 && { required: Object.keys(required) }),
  properties: { ...required, ...optional },
});

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
