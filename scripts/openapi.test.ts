import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, test } from '@jest/globals';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { SCHEMA_TABLES, SCHEMAS } from '../core/openapi/schemas.ts';
import { ApiSchemas, operationsOf, type ApiDocument } from '../testing/http/open-api.ts';
import { DOCUMENTS } from './openapi-documents.ts';

const NAMES = ['control-plane', 'sidecar'] as const;
const documentOf = (name: (typeof NAMES)[number]) => DOCUMENTS[name]() as unknown as ApiDocument;

describe.each(NAMES)('the document of the %s', (name) => {
  const document = documentOf(name);
  const operations = operationsOf(document);

  test('has no finding of the recommended rules of Redocly', async () => {
    // A sign-in only redirects.
    const config = await createConfig({
      extends: ['recommended'],
      rules: { 'operation-2xx-response': 'off' },
    });
    const findings = await lintFromString({ source: JSON.stringify(document), config });
    expect(
      findings.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`),
    ).toEqual([]);
  });

  test('has a successful response for each operation', () => {
    const without = operations.filter(
      ({ operation }) => !Object.keys(operation.responses).some((status) => status.startsWith('2')),
    );
    expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual(
      name === 'sidecar' ? [] : ['GET /auth/login', 'GET /auth/callback'],
    );
  });

  test('has only schemas that are valid in the strict mode of ajv', () => {
    const schemas = new ApiSchemas(document.components, { isNew: true });
    const all: JsonSchema[] = [
      ...Object.values(document.components.schemas),
      ...operations.flatMap(({ operation }) => [
        ...(operation.parameters ?? []).map(({ schema }) => schema),
        ...Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema),
        ...Object.values(operation.responses)
          .flatMap(({ content }) => Object.values(content ?? {}))
          .map(({ schema }) => schema),
      ]),
    ];
    for (const schema of all) expect(() => schemas.errors(schema, null)).not.toThrow();
  });

  test('describes each error as a problem document', () => {
    const other = operations.flatMap(({ method, path, operation }) =>
      Object.entries(operation.responses)
        .filter(([status, { content = {} }]) => status >= '400' && !('application/problem+json' in content))
        .map(([status]) => `${method} ${path} ${status}`),
    );
    expect(other).toEqual(name === 'sidecar' ? ['GET /health/ready 503', 'GET /readyz 503'] : []);
  });

  test('has each operation in one of the described groups, and no group without an operation', () => {
    const used = operations.flatMap(({ operation }) => operation.tags ?? ['none']);
    expect(used).toHaveLength(operations.length);
    expect(new Set(used)).toEqual(new Set(document.tags.map((tag) => tag.name)));
    expect(document.tags.map(({ description }) => description)).not.toContain('');
  });

  test('has each operation id once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids).toEqual([...new Set(ids)]);
  });
});

test('each operation of the API of the fleet requires a credential', () => {
  const open = operationsOf(documentOf('control-plane')).filter(
    ({ path, operation }) => path.startsWith('/api/') && operation.security.length === 0,
  );
  expect(open).toEqual([]);
});

test('each name of a schema is in one table', () => {
  const names = SCHEMA_TABLES.flatMap((table) => Object.keys(table));
  expect(names.length).toBe(Object.keys(SCHEMAS).length);
});
