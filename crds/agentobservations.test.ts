import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: unknown;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

const root = join(import.meta.dirname, '..');
const crd = parse(readFileSync(join(root, 'crds/agentobservations.yaml'), 'utf8'));
const schema = crd.spec.versions[0].schema.openAPIV3Schema as Schema;

function* properties(of: Schema, path: string): Generator<[string, Schema]> {
  for (const [name, member] of Object.entries(of.properties ?? {})) {
    yield [`${path}.${name}`, member];
    yield* properties(member, `${path}.${name}`);
  }
  if (of.items) {
    yield [`${path}[]`, of.items];
    yield* properties(of.items, `${path}[]`);
  }
}

describe('the CustomResourceDefinition', () => {
  test('describes every field for kubectl explain', () => {
    const bare = [...properties(schema, '')]
      .filter(([, member]) => !member.description)
      .map(([path]) => path);
    expect(bare).toEqual(['.metadata']);
  });

  test('does not keep unknown fields', () => {
    const open = [...properties(schema, '')].filter(
      ([, member]) => member.additionalProperties ?? member['x-kubernetes-preserve-unknown-fields'],
    );
    expect(open).toEqual([]);
  });

  test('has the printed columns of the contract', () => {
    const columns = crd.spec.versions[0].additionalPrinterColumns as { name: string; priority?: number }[];
    expect(columns.filter((column) => !column.priority).map((column) => column.name)).toEqual([
      'Phase',
      'Grade',
      'Score',
      'Tokens',
      'Checked',
    ]);
  });
});
