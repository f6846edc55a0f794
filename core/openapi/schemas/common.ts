import { fieldError, problem } from '../../shapes/problem.ts';
import { liveness, readiness } from '../../shapes/readiness.ts';
import { responseSchemas } from '../../shapes/response.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

/** Schemas that every process uses. */
export const COMMON_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...responseSchemas([problem, fieldError, liveness, readiness]),
  OpenApiDocument: {
    description: 'An OpenAPI 3.1 document.',
    type: 'object',
    required: ['openapi', 'info', 'paths'],
    properties: {
      openapi: { type: 'string', enum: ['3.1.0'] },
      info: { type: 'object' },
      paths: { type: 'object' },
    },
  },
};
