import { isRecord } from '../untrusted/fields.ts';
import type { JsonSchema } from '../untrusted/json-schema.ts';
import { CRD } from './field.ts';

/** The keywords of a schema that a structural schema may have, apart from its parts, in their order in the file. */
const KEYWORDS = [
  ...['description', 'type', 'format', 'default', 'enum', 'minimum', 'maximum', 'minLength', 'maxLength'],
  ...[
    'pattern',
    'minItems',
    'maxItems',
    'maxProperties',
    'x-kubernetes-list-type',
    'x-kubernetes-list-map-keys',
    'required',
  ],
  'x-kubernetes-validations',
];

/** The keywords of the parts. A structural schema has no `additionalProperties` next to `properties`: it prunes other members. */
const PARTS = ['properties', 'items', 'additionalProperties'];

/**
 * The structural schema of a CustomResourceDefinition for the values that a field returns. Throws on a schema that has none,
 * because the API server drops some unknown keywords without an error.
 */
export function structural(returns: JsonSchema, path = ''): JsonSchema {
  const { [CRD]: forCrd } = returns as { [CRD]?: JsonSchema };
  const given: JsonSchema = { ...(returns['type'] === 'array' && ATOMIC), ...returns, ...forCrd };
  if (typeof given['type'] !== 'string') throw new Error(`${path || 'the schema'} has no single type`);
  const unknown = Object.keys(given).find((key) => !KEYWORDS.includes(key) && !PARTS.includes(key));
  if (unknown !== undefined) throw new Error(`${path || 'the schema'} has the keyword ${unknown}`);
  const rows = KEYWORDS.filter((key) => given[key] !== undefined).map((key) => [key, given[key]] as const);
  const { properties, items, additionalProperties } = given;
  return {
    ...Object.fromEntries(rows),
    ...(isRecord(items) && { items: structural(items, `${path}[]`) }),
    ...(isRecord(additionalProperties) && {
      additionalProperties: structural(additionalProperties, `${path}.*`),
    }),
    ...(isRecord(properties) && { properties: structuralMembers(properties, path) }),
  };
}

/** A list is replaced as a whole, unless it has a `key`. */
const ATOMIC = { 'x-kubernetes-list-type': 'atomic' };

const structuralMembers = (members: Readonly<Record<string, unknown>>, path: string): JsonSchema =>
  Object.fromEntries(
    Object.entries(members).map(([name, part]) => [name, structural(part as JsonSchema, `${path}.${name}`)]),
  );
