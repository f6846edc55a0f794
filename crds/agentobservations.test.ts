import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { parse } from 'yaml';
import { AGENT_REF } from '../core/observation/agent-ref.ts';

interface Schema {
  type: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  items?: Schema;
  additionalProperties?: unknown;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

const root = join(import.meta.dirname, '..');
const crd = parse(readFileSync(join(root, 'crds/agentobservations.yaml'), 'utf8'));
const schema = crd.spec.versions[0].schema.openAPIV3Schema as Schema;

/** Common form of both sides: `name` or `name?` mapped to a type, with unions of literals as sorted lists. */
type Shape = string | unknown[] | { [member: string]: Shape } | { listOf: Shape };

function shapeOfSchema(of: Schema): Shape {
  if (of.enum) return [...of.enum].sort();
  if (of.type === 'array') return { listOf: shapeOfSchema(of.items!) };
  if (of.type !== 'object') return of.type === 'integer' ? 'number' : of.type;
  const members = Object.entries(of.properties ?? {}).map(([name, member]) => {
    const optional = of.required?.includes(name) ? '' : '?';
    return [name + optional, shapeOfSchema(member)] as const;
  });
  return Object.fromEntries(members);
}

const file = join(root, 'core/observation/observation.ts');
const program = ts.createProgram([file], {
  strict: true,
  exactOptionalPropertyTypes: true,
  module: ts.ModuleKind.NodeNext,
  allowImportingTsExtensions: true,
  noEmit: true,
  types: [],
  lib: ['lib.es2024.d.ts'],
});
const checker = program.getTypeChecker();

function shapeOfType(type: ts.Type): Shape {
  if (type.isUnion()) {
    const literals = type.types.map((each) => (each.isStringLiteral() ? each.value : null));
    return literals.includes(null) ? checker.typeToString(type) : literals.sort();
  }
  if (checker.isArrayType(type))
    return { listOf: shapeOfType(checker.getTypeArguments(type as ts.TypeReference)[0]!) };
  if (!(type.flags & ts.TypeFlags.Object))
    return checker.typeToString(type) === 'true' ? [true] : checker.typeToString(type);
  const members = type.getProperties().map((member) => {
    const optional = member.flags & ts.SymbolFlags.Optional ? '?' : '';
    // With exactOptionalPropertyTypes, optional members contain a marker type that no value has.
    const inner = checker.getNonNullableType(checker.getTypeOfSymbol(member));
    return [member.name + optional, shapeOfType(inner)] as const;
  });
  return Object.fromEntries(members);
}

function shapeOf(name: string): Shape {
  const source = program.getSourceFile(file)!;
  const symbol = checker
    .getExportsOfModule(checker.getSymbolAtLocation(source)!)
    .find((each) => each.name === name);
  return shapeOfType(checker.getDeclaredTypeOfSymbol(symbol!));
}

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
  test.each([
    ['spec', 'ObservationSpec'],
    ['status', 'ObservationStatus'],
  ])('has in %s the same members, required members, types and values as %s', (part, type) => {
    const declared = shapeOfSchema(schema.properties![part]!);
    const wanted = shapeOf(type) as Record<string, Record<string, Record<string, Shape>>>;
    // Other clients may add conditions of other types.
    if (part === 'status') wanted['conditions?']!['listOf']!['type'] = 'string';
    expect(Object.keys(wanted).length).toBeGreaterThan(2);
    expect(declared).toEqual(wanted);
  });

  test('describes every field for kubectl explain', () => {
    const bare = [...properties(schema, '')]
      .filter(([, member]) => !member.description)
      .map(([path]) => path);
    expect(bare).toEqual(['.metadata']);
  });

  test.each(Object.entries(AGENT_REF))('has the length and the pattern of spec.agentRef.%s', (name, row) => {
    const [maxLength, { source: pattern }] = row;
    expect(schema.properties!['spec']!.properties!['agentRef']!.properties![name]).toMatchObject({
      maxLength,
      pattern,
    });
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
