import { HTTP_BODIES, slugOf } from './http-bodies.ts';
import { DOCUMENTS } from './openapi-documents.ts';

const textOf = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** `docs/reference/openapi/<name>.json`. */
export const documentFile = (name: keyof typeof DOCUMENTS): string => textOf(DOCUMENTS[name]());

/** `docs/reference/schemas/<slug>.schema.json`. */
export function bodySchemaFile(slug: string): string {
  const body = HTTP_BODIES.find(({ title }) => slugOf(title) === slug);
  if (body === undefined) throw new Error(`no body with the name ${slug}`);
  return textOf({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: body.title,
    ...body.schema,
  });
}
