import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';
import published from './agent.schema.generated.json' with { type: 'json' };
import fc, { runs } from '../../testing/random/properties.ts';
import { MANIFEST_SCHEMA, schemaNodeAt } from './schema.ts';
import type { SchemaNode } from './schema-node.ts';
import { validateManifest } from './validate.generated.ts';

test('the published schema equals the schema in the code', () => {
  expect(published).toEqual(MANIFEST_SCHEMA);
});

test('ajv accepts the published schema as JSON Schema 2020-12 and agrees with the generated validator', () => {
  const validate = new Ajv2020({ strict: true, strictTypes: true, strictRequired: false }).compile(published);
  const values = fc.oneof(fc.jsonValue(), fc.constantFrom('$env:X', 'http://x', 1, -1, 0.5, true, [], {}));
  const paths = fc.array(fc.nat(), { minLength: 1, maxLength: 6 });
  const documents = [FULL_MANIFEST, manifestText()].map((text): unknown => parse(text));
  fc.assert(
    fc.property(fc.constantFrom(...documents), paths, values, (original, path, value) => {
      const document = structuredClone(original);
      replaceAt(document, path, value);
      expect(validateManifest(document)).toBe(validate(document));
    }),
    { numRuns: runs(500) },
  );
});

/** Replaces one value in `document`. The numbers are the index of the member to follow at each level. */
function replaceAt(document: unknown, [first = 0, ...rest]: number[], value: unknown): void {
  if (typeof document !== 'object' || document === null) return;
  const holder = document as Record<string, unknown>;
  const keys = Object.keys(holder);
  const key = keys[first % Math.max(keys.length, 1)];
  if (key === undefined) return;
  if (rest.length > 0 && typeof holder[key] === 'object') replaceAt(holder[key], rest, value);
  else holder[key] = value;
}

function nodesOf(node: SchemaNode): SchemaNode[] {
  const children = [
    ...Object.values(node.properties ?? {}),
    ...(node.items === undefined ? [] : [node.items]),
  ];
  return [node, ...children.flatMap(nodesOf)];
}

test('every property has a description, and every object is a map or allows only x- keys in addition', () => {
  for (const node of nodesOf(MANIFEST_SCHEMA)) {
    expect(node.description).toMatch(/^[A-Z].*\.$/s);
    if (node.type !== 'object') continue;
    if (node.properties === undefined) expect(node.additionalProperties).toEqual(expect.any(Object));
    else expect(node).toMatchObject({ additionalProperties: false, patternProperties: { '^x-': true } });
  }
});

test.each([
  ['#', 'Agent manifest'],
  ['#/properties/metadata/properties/name', undefined],
  ['#/properties/nothing', undefined],
])('schemaNodeAt finds the node at %s', (pointer, title) => {
  expect(schemaNodeAt(pointer).title).toBe(title);
});

test('every example is a valid value, and a secret is only proposed as a reference', () => {
  const examples = nodesOf(MANIFEST_SCHEMA).flatMap((node) =>
    (node.examples ?? []).map((example): [SchemaNode, unknown] => [node, example]),
  );
  expect(examples.length).toBeGreaterThan(50);
  const ajv = new Ajv2020({ strict: false });
  for (const [node, example] of examples) {
    expect([node.description, example, ajv.validate(node, example)]).toEqual([
      node.description,
      example,
      true,
    ]);
    if (node.writeOnly === true) expect(example).toMatch(/^\$(?:env|secret):/);
  }
});

test('every text that describes its values by examples also proposes them', () => {
  const described = nodesOf(MANIFEST_SCHEMA).filter(
    ({ type, description }) => type === 'string' && description?.includes(', such as '),
  );
  expect(described.length).toBeGreaterThan(10);
  expect(described.filter(({ examples }) => examples === undefined)).toEqual([]);
});
