import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { JsonSchema } from '../untrusted/json-schema.ts';
import { NAME, type Field } from './field.ts';

// Each wire shape is described once, in a file of this folder, and its users derive types and schemas from it. These tests read what the
// other sources write by hand: the members of types, of zod objects, of objects of fields and of JSON Schemas.

const ROOT = join(import.meta.dirname, '../..');
const OUTSIDE = ['**/node_modules', '**/dist', 'core/shapes', 'testing/planted', 'testing/fixtures'];

const LABEL_CONDITION = 'agentPolicySpec.namespaceSelector.matchExpressions[]';

/** Other descriptions that have all members of a shape, with the reason why they may. */
const ALLOWED: readonly [shape: string, file: string, why: string][] = [
  ['FieldError', 'core/untrusted/fields.ts', 'the parsers of fields report it'],
  ['OrganisationRules', 'kube/organisation-rules.ts', 'parsed policies, which the response sums up'],
  ['AuditEntry.egress', 'core/facts/egress-facts.ts', 'sets and maps over all requests'],
  ['AuditEntry.egress', 'testing/frameworks/example-result.ts', 'what a whole conversation called'],
  ['ExploreReport.endpoints', 'core/facts/facts.ts', 'the responses that it sums up'],
  [LABEL_CONDITION, 'authoring/diagnosis/egress-fence.ts', 'an object of Kubernetes'],
  [LABEL_CONDITION, 'kube/types.ts', 'an object of Kubernetes'],
  ['agentRef', 'authoring/diagnosis/facts.ts', 'an object of Kubernetes'],
  ['agentRef', 'core/injection/pod.ts', 'an object of Kubernetes'],
  ['agentRef', 'core/observation/observation.ts', 'an object of Kubernetes'],
  ['agentRef', 'kube/types.ts', 'an object of Kubernetes'],
  [
    'evidenceStatement.predicate.heads[]',
    'core/record/chain.ts',
    'the state of a verification, in the process',
  ],
  ['verifiedEvidence', 'authoring/evidence/bundle.ts', 'the bundle that the response names'],
  ['verdict', 'kube/client.ts', 'an object of Kubernetes'],
];

interface Shape {
  name: string;
  members: readonly string[];
  /** Part of another shape. */
  isPart: boolean;
}

interface Described {
  [NAME]?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
}

/** The objects in a schema. */
function shapesIn(path: string, schema: JsonSchema, isPart = false): Shape[] {
  const { [NAME]: name = path, properties = {}, items, anyOf = [] } = schema as Described;
  const members = Object.entries(properties);
  return [
    { name, members: members.map(([member]) => member), isPart },
    ...members.flatMap(([member, each]) => shapesIn(`${name}.${member}`, each, true)),
    ...(items === undefined ? [] : shapesIn(`${name}[]`, items, true)),
    ...anyOf.flatMap((each) => shapesIn(name, each, isPart)),
  ];
}

/** The shapes of this folder, each set of members once. A part with two members says too little: its names are common words. */
async function allShapes(): Promise<Shape[]> {
  const files = globSync('*.ts', { cwd: import.meta.dirname }).filter((file) => !file.endsWith('.test.ts'));
  const modules = await Promise.all(
    files.sort().map(async (file) => (await import(join(import.meta.dirname, file))) as object),
  );
  const fields = modules.flatMap((module) =>
    Object.entries(module).filter((row): row is [string, Field<unknown>] => 'returns' in Object(row[1])),
  );
  const shapes = fields.flatMap(([name, { returns }]) => shapesIn(name, returns));
  const bySet = new Map<string, Shape>();
  for (const shape of shapes.sort((a, b) => Number(a.isPart) - Number(b.isPart))) {
    const set = shape.members.toSorted().join();
    if (shape.members.length > (shape.isPart ? 2 : 1) && !bySet.has(set)) bySet.set(set, shape);
  }
  return [...bySet.values()];
}

/** Members that are written in one place. */
interface Description {
  file: string;
  /** Name of the type; absent: it has none, or it is a schema. */
  name: string | undefined;
  /** Types whose members it also has. */
  bases: readonly string[];
  members: Set<string>;
}

const MEMBER = /^(?:readonly )?'?([\w$]+)'?\??(?::|,$)/;
const TYPE_ON_ONE_LINE = /\{ ((?:(?:readonly )?\w+\??: [^{};]+; )+\w+\??: [^{};]+) \}/g;
const SCHEMA_ON_ONE_LINE = /\b(?:object|Object)\((?:'[^']*', )?\{ ([^{}]*) \}/g;
const SCHEMA = /\b(?:\w+\.)?(?:object|strictObject|looseObject)\(|\bproperties: \{/;
const NAMED = /\b(?:interface (\w+)(?: extends (.*))?|type (\w+) =(.*)) \{$/;

/** The descriptions in a source. The format of the sources decides which lines belong together. */
function descriptionsIn(file: string, text: string): Description[] {
  const found: Description[] = [];
  const open: { indent: number; head: string; isValue: boolean; members: Set<string> }[] = [];
  const close = (indent: number): void => {
    while ((open.at(-1)?.indent ?? -1) >= indent) {
      const { head, isValue, members } = open.pop()!;
      // Values have commas between their members, and types semicolons.
      if (isValue && !SCHEMA.test(head)) continue;
      const [, name, bases, alias, parts] = NAMED.exec(head) ?? [];
      const others = (bases ?? parts ?? '').replaceAll(/\w+<[^>]*>/g, '').match(/\b[A-Z]\w*/g) ?? [];
      found.push({ file, name: name ?? alias, bases: others, members });
    }
  };
  for (const line of text.split('\n')) {
    const code = line.trimStart();
    if (code === '' || /^(?:\/\/|\/?\*)/.test(code)) continue;
    const indent = line.length - code.length;
    close(indent);
    const around = open.at(-1);
    const member = MEMBER.exec(code)?.[1];
    if (around?.indent === indent - 2 && member !== undefined) {
      around.members.add(member);
      around.isValue ||= code.endsWith(',');
    }
    for (const pattern of [TYPE_ON_ONE_LINE, SCHEMA_ON_ONE_LINE])
      for (const [, members = ''] of code.matchAll(pattern)) {
        const names = [...members.matchAll(/(\w+)\??: /g)].map(([, name = '']) => name);
        found.push({ file, name: undefined, bases: [], members: new Set(names) });
      }
    // An object that begins on a line of its own is an argument of the call around it.
    const head = code === '{' ? `${around?.head ?? ''}{` : code;
    if (/[{(]$/.test(code)) open.push({ indent, head, isValue: false, members: new Set() });
  }
  close(0);
  return found;
}

/** Adds the members of base types: those of the same file, else of the only type with that name. */
function withBases(all: readonly Description[]): Description[] {
  const byName = Map.groupBy(all, ({ name }) => name);
  const membersOf = ({ file, bases, members }: Description, depth = 0): string[] => [
    ...members,
    ...bases.flatMap((base) => {
      const named = byName.get(base) ?? [];
      const [own] = named.filter((each) => each.file === file);
      const found = own ?? (named.length === 1 ? named[0] : undefined);
      return found === undefined || depth > 3 ? [] : membersOf(found, depth + 1);
    }),
  ];
  return all.map((each) => ({ ...each, members: new Set(membersOf(each)) }));
}

/** Which descriptions have all members of a shape. For a shape with two members: exactly these. */
function repeated(shapes: readonly Shape[], written: readonly Description[]): string[] {
  const descriptions = withBases(written);
  const found = shapes.flatMap(({ name, members }) =>
    descriptions
      .filter((each) => members.length > 2 || each.members.size === members.length)
      .filter((each) => members.every((member) => each.members.has(member)))
      .map(({ file }) => `${name}: ${file}`),
  );
  return [...new Set(found)].sort();
}

const SHAPES: Shape[] = [
  { name: 'Part', members: ['id', 'size'], isPart: false },
  { name: 'Thing', members: ['id', 'name', 'parts'], isPart: false },
];
const SAMPLES: Readonly<Record<string, string>> = {
  'an interface':
    "interface X {\n  id: string;\n  /** It's { odd. */\n  name?: string;\n  parts: {\n    a: 1;\n  }[];\n}",
  'read-only members':
    'type X = Readonly<{\n  readonly id: string;\n  readonly name: string;\n  parts: A;\n}>;',
  'a type on one line': 'const f = (x: { id: string; name: string; parts: string[] }): void => g(x);',
  'a member of another type':
    'type X = {\n  a: string;\n  b: {\n    id: 1;\n    name: 2;\n    parts: 3;\n  };\n};',
  'a type with a base': 'interface A {\n  id: 1;\n}\ninterface X extends A {\n  name: 2;\n  parts: 3;\n}',
  'a type with a part of its members elsewhere':
    'type A = {\n  id: 1;\n};\ntype X = A & {\n  name: 2;\n  parts: 3;\n};',
  'a zod object': 'const x = z.object({\n  id: z.string(),\n  name: z.string(),\n  parts: z.array(a),\n});',
  'a zod object on one line': 'const x = z.object({ id: z.string(), name: z.string(), parts: z.string() });',
  'an object of fields':
    "const x = object(\n  'A thing.',\n  {\n    id,\n    name,\n    parts: list('', part),\n  },\n);",
  'a JSON Schema': 'const x = {\n  properties: {\n    id: TEXT,\n    name: TEXT,\n    parts: TEXT,\n  },\n};',
};

test.each(Object.entries(SAMPLES))('%s is a description', (_title, text) => {
  expect(repeated(SHAPES, descriptionsIn('x.ts', text))).toEqual(['Thing: x.ts']);
});

test.each([
  ['a value', 'const x = {\n  id: 1,\n  name: 2,\n  parts: [],\n};'],
  ['a type with fewer members', 'interface X {\n  id: string;\n  name: string;\n}'],
  ['a derived type', "interface X extends Pick<Thing, 'id' | 'parts'> {\n  name: string;\n}"],
  ['a larger type than a shape with two members', 'interface X {\n  id: 1;\n  size: 2;\n  at: 3;\n}'],
])('%s is not a description', (_title, text) => {
  expect(repeated(SHAPES, descriptionsIn('x.ts', text))).toEqual([]);
});

test('a shape with two members is described by a type with exactly these', () => {
  expect(repeated(SHAPES, descriptionsIn('x.ts', 'type X = { size: 1; id: 2 };'))).toEqual(['Part: x.ts']);
});

test('no other source describes the members of a shape', async () => {
  const files = globSync('*/**/*.{ts,tsx}', { cwd: ROOT, exclude: OUTSIDE }).filter(
    (file) => !/\.(?:test|generated)\.tsx?$/.test(file),
  );
  const shapes = await allShapes();
  expect(files.length).toBeGreaterThan(1_000);
  expect(shapes.length).toBeGreaterThan(100);
  const descriptions = files.flatMap((file) => descriptionsIn(file, readFileSync(join(ROOT, file), 'utf8')));
  expect(repeated(shapes, descriptions)).toEqual(ALLOWED.map(([shape, file]) => `${shape}: ${file}`).sort());
});
