import { describe, expect, test } from '@jest/globals';
import { openApiDocument, type DocumentedRoute } from './document.ts';
import { listOf, orNull, ref, TEXT } from '../untrusted/json-schema.ts';
import type { Operation } from './operation.ts';
import { COMMON_SCHEMAS } from './schemas/common.ts';

const COUNT = { type: 'integer', minimum: 0 };
const objectOf = (properties: object) => ({ type: 'object', properties });

const SCHEMAS = {
  ...COMMON_SCHEMAS,
  Tree: objectOf({ name: TEXT, children: listOf(ref('Tree')), leaf: ref('Leaf') }),
  Leaf: objectOf({ size: COUNT }),
  Unused: objectOf({ tree: ref('Tree') }),
};

const route = (method: string, path: string, operation: Partial<Operation>): DocumentedRoute => ({
  method,
  path,
  access: 'open',
  summary: 'What it does.',
  operation: { id: 'doIt', responses: { 204: 'Done.' }, ...operation },
});

const documentOf = (...routes: DocumentedRoute[]) =>
  openApiDocument({
    tags: { Trees: 'What grows.', Other: 'The rest.' },
    title: 'A test',
    description: 'For a test.',
    version: '1.2.3',
    servers: [{ url: '/', description: 'here' }],
    routes,
    access: ({ access }) => ({
      security: access === 'open' ? [] : ['key'],
      responses: access === 'open' ? {} : { 401: 'No key.' },
    }),
    securitySchemes: { key: { type: 'apiKey' } },
    pathParameters: { id: { schema: { ...TEXT, pattern: '^x' }, description: 'The id.' } },
    schemas: SCHEMAS,
  });

/** The operation of a document with one route. */
function operationOf(of: DocumentedRoute): Record<string, unknown> {
  const { paths } = documentOf(of) as { paths: Record<string, Record<string, Record<string, unknown>>> };
  return Object.values(Object.values(paths)[0]!)[0]!;
}
const statusesOf = (of: DocumentedRoute): string[] => Object.keys(operationOf(of)['responses'] as object);

describe('an operation', () => {
  test('has its path in the form of OpenAPI, and its title from the id', () => {
    const document = documentOf(route('DELETE', '/a/:id/b', { id: 'deleteOneThing' }));
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'A test', version: '1.2.3' },
      paths: {
        '/a/{id}/b': {
          delete: {
            operationId: 'deleteOneThing',
            summary: 'Delete one thing',
            description: 'What it does.',
            security: [],
            parameters: [
              { name: 'id', in: 'path', required: true, schema: { pattern: '^x' }, description: 'The id.' },
            ],
          },
        },
      },
    });
  });

  test('has the parameters of its readers without the readers', () => {
    const query = {
      limit: { schema: COUNT, description: 'How many.', read: () => 1 },
      fields: { schema: listOf(TEXT), description: 'Which.', explode: false as const },
    };
    expect(operationOf(route('GET', '/a', { query }))['parameters']).toEqual([
      { name: 'limit', in: 'query', description: 'How many.', schema: COUNT },
      { name: 'fields', in: 'query', description: 'Which.', schema: listOf(TEXT), explode: false },
    ]);
  });

  test.each<[string, DocumentedRoute, string[]]>([
    ['nothing', route('GET', '/a', {}), ['204', '431', '500']],
    ['a parameter of the path', route('GET', '/a/:id', {}), ['204', '400', '431', '500']],
    ['a query', route('GET', '/a', { query: {} }), ['204', '400', '431', '500']],
    ['a body', route('POST', '/a', { body: 'Leaf' }), ['204', '400', '413', '415', '431', '500']],
    ['a credential', { ...route('GET', '/a', {}), access: 'admin' }, ['204', '401', '431', '500']],
  ])('with %s has the responses that follow from it', (_title, of, statuses) => {
    expect(statusesOf(of)).toEqual(statuses);
  });

  test('has the headers of a 304 in the response that it stands for', () => {
    const { responses } = operationOf(
      route('GET', '/a', {
        responses: {
          200: { description: 'A tree.', schema: 'Tree', headers: { 'X-Size': 'Its size.' } },
          304: { description: 'The same.', headers: { ETag: 'The current ETag.' } },
        },
      }),
    ) as { responses: Record<number, { headers: object }> };
    expect(Object.keys(responses[200]?.headers ?? {})).toEqual(['X-Size', 'ETag']);
  });

  test('has its own responses before the general ones', () => {
    const { responses } = operationOf(
      route('GET', '/a/:id', {
        responses: {
          200: { description: 'A tree.', schema: 'Tree', headers: { 'X-Size': 'Its size.' } },
          202: { description: 'Events.', contentType: 'text/event-stream' },
          304: 'The same.',
          400: 'Another id.',
          503: { description: 'A leaf.', schema: 'Leaf', contentType: 'application/json' },
        },
      }),
    );
    expect(responses).toMatchObject({
      200: {
        content: { 'application/json': { schema: ref('Tree') } },
        headers: { 'X-Size': { description: 'Its size.', schema: TEXT } },
      },
      202: { content: { 'text/event-stream': { schema: TEXT } } },
      304: { description: 'The same.' },
      400: {
        description: 'Another id.',
        content: { 'application/problem+json': { schema: ref('Problem') } },
      },
      503: { content: { 'application/json': { schema: ref('Leaf') } } },
    });
    expect((responses as Record<string, object>)['304']).not.toHaveProperty('content');
  });
});

test('a document has the schemas that it names, directly or through others', () => {
  const { components } = documentOf(
    route('GET', '/a', { responses: { 200: { description: '', schema: 'Tree' } } }),
  ) as { components: { schemas: object } };
  expect(Object.keys(components.schemas)).toEqual(['FieldError', 'Leaf', 'Problem', 'Tree']);
});

test('an unknown schema is an error that names it', () => {
  const of = route('GET', '/a', { responses: { 200: { description: '', schema: 'Bush' } } });
  expect(() => documentOf(of)).toThrow('the schema Bush is not defined');
});

test('a document describes its tags, and an operation names its tag', () => {
  const document = documentOf({ ...route('GET', '/a', {}), tag: 'Trees' });
  expect(document).toMatchObject({
    tags: [
      { name: 'Trees', description: 'What grows.' },
      { name: 'Other', description: 'The rest.' },
    ],
    paths: { '/a': { get: { tags: ['Trees'] } } },
  });
});

test('an unknown tag is an error that names it', () => {
  const of = { ...route('GET', '/a', {}), tag: 'Bushes' };
  expect(() => documentOf(of)).toThrow('the tag Bushes is not defined');
});

test.each([
  ['a text', TEXT, { type: ['string', 'null'] }],
  ['an enum', { type: 'string', enum: ['a'] }, { type: ['string', 'null'], enum: ['a', null] }],
  ['a reference', ref('Leaf'), { anyOf: [ref('Leaf'), { type: 'null' }] }],
  ['a choice', { anyOf: [TEXT, COUNT] }, { anyOf: [TEXT, COUNT, { type: 'null' }] }],
  ['a schema that accepts null', orNull(TEXT), { type: ['string', 'null'] }],
])('orNull of %s also accepts null', (_title, schema, expected) => {
  expect(orNull(schema)).toEqual(expected);
});
