import { closed, enumOf, listOf, ref, TEXT } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

/** Schemas that every process uses. */
export const COMMON_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Problem: {
    description: 'An error (RFC 9457).',
    ...closed(
      {
        type: { type: 'string', const: 'about:blank' },
        title: TEXT,
        status: { type: 'integer', minimum: 400, maximum: 599 },
        detail: { type: 'string', description: 'What failed and, if it helps, what to do.' },
      },
      {
        errors: { ...listOf(ref('FieldError')), description: 'The invalid parts of the input.' },
        validIds: { ...listOf(TEXT), description: 'All ids, if the given id is unknown.' },
        namespaces: {
          ...listOf(TEXT),
          description: 'The namespaces that have the name, if `namespace` is required.',
        },
      },
    ),
  },
  FieldError: closed({
    path: { type: 'string', description: 'For example `gap.issues[3].severity`; empty for the whole body.' },
    message: TEXT,
  }),
  Liveness: closed({ status: { type: 'string', const: 'live' } }),
  Readiness: closed({ status: { type: 'string', const: 'ready' } }),
  OpenApiDocument: {
    description: 'An OpenAPI 3.1 document.',
    type: 'object',
    required: ['openapi', 'info', 'paths'],
    properties: {
      openapi: enumOf(['3.1.0']),
      info: { type: 'object' },
      paths: { type: 'object' },
    },
  },
};
