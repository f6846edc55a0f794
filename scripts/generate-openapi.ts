import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { isRecord } from '../core/untrusted/fields.ts';
import { meaningsOf } from './generate-http-bodies-page.ts';
import { HTTP_BODIES, slugOf, type HttpBody } from './http-bodies.ts';
import { DOCUMENTS } from './openapi-documents.ts';

const textOf = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** `docs/reference/openapi/<name>.json`. */
export const documentFile = (name: keyof typeof DOCUMENTS): string => textOf(DOCUMENTS[name]());

/** `docs/reference/schemas/<slug>.schema.json`. */
export function bodySchemaFile(slug: string): string {
  const body = HTTP_BODIES.find(({ title }) => slugOf(title) === slug);
  if (body === undefined) throw new Error(`no body with the name ${slug}`);
  return textOf(describedSchema(body));
}

/** The schema of the body with the meaning of each member. */
function describedSchema(body: HttpBody): JsonSchema {
  const schema = withMeanings(body.schema, '', meaningsOf(body));
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: body.title, ...schema };
}

function withMeanings(schema: JsonSchema, path: string, meanings: ReadonlyMap<string, string>): JsonSchema {
  const inner = (part: unknown, at: string): unknown =>
    isRecord(part) ? withMeanings(part, at, meanings) : part;
  const { anyOf, items, properties } = schema;
  const meaning = meanings.get(path);
  return {
    ...(meaning !== undefined && meaning !== '' && { description: meaning }),
    ...schema,
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map((each) => inner(each, path)) }),
    ...(items !== undefined && { items: inner(items, `${path}[]`) }),
    ...(isRecord(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, member]) => [
          key,
          inner(member, path === '' ? key : `${path}.${key}`),
        ]),
      ),
    }),
  };
}
