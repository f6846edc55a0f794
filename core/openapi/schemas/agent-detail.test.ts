import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { SCHEMAS } from '../schemas.ts';

interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
}

type Shape = string | unknown[] | { [member: string]: Shape };

/** `name` or `name?` mapped to a type, with enumerations as sorted lists. */
function shapeOf(schema: Schema): Shape {
  if (schema.$ref !== undefined) return shapeOf(SCHEMAS[schema.$ref.split('/').at(-1) ?? ''] as Schema);
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum !== undefined) return [...schema.enum].sort();
  if (schema.type === 'array') return { listOf: shapeOf(schema.items ?? {}) };
  if (schema.type !== 'object') return schema.type === 'integer' ? 'number' : (schema.type ?? 'any');
  const members = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const optional = schema.required?.includes(name) === true ? '' : '?';
    return [name + optional, shapeOf(member)] as const;
  });
  return Object.fromEntries(members);
}

const crd = parse(readFileSync(join(import.meta.dirname, '../../../crds/agentobservations.yaml'), 'utf8'));

test('describes the status of the CustomResourceDefinition without hashes of keys and removed proofs', () => {
  const status = crd.spec.versions[0].schema.openAPIV3Schema.properties.status as Schema;
  const all = shapeOf(status) as Record<string, Shape>;
  const { 'tokenHashes?': keys, 'proofTombstones?': removed, ...shown } = all;
  expect([keys, removed]).toEqual([expect.anything(), expect.anything()]);
  expect(shapeOf(SCHEMAS['ObservationStatus'] as Schema)).toEqual(shown);
});

test('allows no other members', () => {
  const open: string[] = [];
  const visit = (schema: Schema, path: string): void => {
    if (schema.$ref !== undefined) {
      visit(SCHEMAS[schema.$ref.split('/').at(-1) ?? ''] as Schema, path);
      return;
    }
    if (schema.type === 'object' && schema.additionalProperties !== false) open.push(path);
    if (schema.items) visit(schema.items, `${path}[]`);
    for (const [name, member] of Object.entries(schema.properties ?? {})) visit(member, `${path}.${name}`);
  };
  visit(SCHEMAS['AgentDetail'] as Schema, '');
  expect(open).toEqual([]);
});
