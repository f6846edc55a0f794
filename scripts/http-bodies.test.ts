import { describe, expect, test } from '@jest/globals';
import { parseAgentReport } from '../core/health/parse-agent-report.ts';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { isRecord } from '../core/untrusted/fields.ts';
import { parseUsageReport } from '../core/usage/parse-usage-report.ts';
import { HOSTILE_VALUES, mutationsOf } from '../testing/random/mutations.ts';
import { ApiSchemas } from '../testing/http/open-api.ts';
import { HTTP_BODIES } from './http-bodies.ts';

test.each(HTTP_BODIES)('the documented $title is accepted', ({ example, parse }) => {
  expect(parse(example)).toMatchObject({ ok: true });
});

test('the documented reports of an agent are consistent', () => {
  const example = (title: string) => HTTP_BODIES.find((body) => body.title === title)?.example;
  const expected = { agentName: 'shop', at: new Date('2026-11-21T08:30:10Z') };
  expect(parseAgentReport(example('Health report'), expected)).toMatchObject({ ok: true });
  expect(parseUsageReport(example('Usage report'))).not.toBeNull();
});

/** Places of a schema that accept any value, or an object with any members. */
function openPlaces(schema: JsonSchema, path: string): string[] {
  const { type, anyOf, items, properties } = schema;
  const is = (name: string): boolean => [type].flat().includes(name);
  const isOpen = (is('object') && properties === undefined) || (is('array') && items === undefined);
  const isAny = type === undefined && anyOf === undefined;
  const inner = [
    ...(Array.isArray(anyOf) ? anyOf.map((each: JsonSchema) => openPlaces(each, path)) : []),
    ...(isRecord(items) ? [openPlaces(items, `${path}[]`)] : []),
    ...(isRecord(properties)
      ? Object.entries(properties).map(([key, member]) => openPlaces(member as JsonSchema, `${path}.${key}`))
      : []),
  ];
  return [...(isOpen || isAny ? [path] : []), ...inner.flat()];
}

describe.each(HTTP_BODIES)('the schema of a $title', ({ title, example, parse, schema }) => {
  const schemas = new ApiSchemas({ schemas: {} });

  test('describes every member', () => {
    // A manifest has its own schema.
    expect(openPlaces(schema, '')).toEqual(title === 'Registration' ? ['.manifest'] : []);
  });

  test('accepts the documented example', () => {
    expect(schemas.errors(schema, example)).toEqual([]);
  });

  test('rejects what the parser rejects, and nothing else', () => {
    const bodies = [
      ...HOSTILE_VALUES.map((value) => ({ title: 'the body', body: value, path: '' })),
      ...mutationsOf(example),
    ];
    // The manifest in a registration must be a valid manifest, which its schema does not say.
    const compared = bodies.filter(({ path }) => !(title === 'Registration' && path === 'manifest'));
    const different = compared.filter(
      ({ body }) => parse(body).ok !== (schemas.errors(schema, body).length === 0),
    );
    expect(different.map((each) => each.title)).toEqual([]);
    expect(compared.length).toBeGreaterThan(20);
  });
});
