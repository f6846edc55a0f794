import { describe, expect, test } from '@jest/globals';
import { Code } from './code.ts';
import { collect } from './collect.ts';

/** A repository of files by path. */
const codeOf = (files: Record<string, string>): Code =>
  new Code(Object.entries(files).map(([path, text]) => ({ path, text })));

/** Qualified name of the call of `name` in the first file. */
const qualified = (code: Code, name: string): string | undefined =>
  code.calls().find(({ value }) => value.path.endsWith(name))?.name;

describe('the name of what is called', () => {
  test.each<[string, string, string]>([
    ['from a.b import c as d\nd.e()', 'd.e', 'a.b:c.e'],
    ['import a.b as c\nc.d()', 'c.d', 'a.b:d'],
    ['import a\na.b.c()', 'a.b.c', 'a:b.c'],
    ['from a import (\n  b,\n  c as d,\n)\nd()', 'd', 'a:c'],
    ['from a import B\nx = B(1)\nx.run()', 'x.run', 'a:B().run'],
    [
      'from a import B\nclass C:\n  def __init__(self):\n    self.b = B()\n  def f(self):\n    self.b.run()',
      'self.b.run',
      'a:B().run',
    ],
    ['from a import B\nB().x(1).y()', '.y', 'a:B().x().y'],
    ['x = 1\nx = 2\nx.run()', 'x.run', ':x.run'],
    ['a["b"].c()', 'c', ':a.b.c'],
    ['a[0].c()', 'c', ':a[].c'],
  ])('in Python: %j', (text, name, expected) => {
    expect(qualified(codeOf({ 'main.py': text }), name)).toBe(expected);
  });

  test.each<[string, string, string]>([
    ["import a from 'm'; a();", 'a', 'm:default'],
    ["import a from 'm'; a.b();", 'a.b', 'm:b'],
    ["import * as a from 'm'; a.b();", 'a.b', 'm:b'],
    ["import d, { a as b, type C } from 'm'; b();", 'b', 'm:a'],
    ["const { a: b } = require('m'); b();", 'b', 'm:a'],
    ["const { a } = await import('m'); a();", 'a', 'm:a'],
    ["import { A } from 'm'; const a: A<B> = new A<B>(1); a.run();", 'a.run', 'm:A().run'],
    ["import { a } from 'm'; a?.b!.c();", 'c', 'm:a.b.c'],
    ["import { a } from 'm'; class X { a(b) { return 1; } }", 'a', 'undefined'],
    ["import { a } from 'm'; function a() {}", 'a', 'undefined'],
  ])('in JavaScript: %j', (text, name, expected) => {
    expect(String(qualified(codeOf({ 'main.ts': text }), name))).toBe(expected);
  });

  test('of a value from another file', () => {
    const code = codeOf({
      'src/main.ts': "import { client } from './clients.js'; client.run();",
      'src/clients.ts': "import { A } from 'm'; export const client = new A();",
      'src/other.ts': 'export const client = 1;',
    });
    expect(qualified(code, 'client.run')).toBe('m:A().run');
  });

  test('of a package with the name of a directory of the project', () => {
    const code = codeOf({
      'main.py': 'from agents import Agent, Mine\nAgent()\nMine()',
      'agents/mine.py': 'class Mine: pass',
    });
    expect([qualified(code, 'Agent'), qualified(code, 'Mine')]).toEqual(['agents:Agent', ':Mine']);
  });
});

describe('the value of a name', () => {
  /** What `f(…)` in the first file gets. */
  const argumentOf = (files: Record<string, string>) => {
    const code = codeOf(files);
    const call = code.calls().find(({ value }) => value.path === 'f');
    return call === undefined ? undefined : code.setting(call, [0]);
  };

  test.each<[string, string | null, string | null]>([
    ['f("a" "b")', 'ab', null],
    ['M = "a"\nf(M)', 'a', null],
    ['M: str = "a"\nf(M)', 'a', null],
    ['import os\nf(os.environ["A_B"])', null, 'A_B'],
    ['import os\nf(int(os.environ.get("A_B", "5")))', '5', 'A_B'],
    ['from os import getenv\nf(getenv("A_B") or "x")', 'x', 'A_B'],
    ['import os\nM = os.getenv("A_B", default="x").strip()\nf(M)', 'x', 'A_B'],
    ['C = {"m": {"id": "a"}}\nf(C["m"]["id"])', 'a', null],
    ['class A:\n  def g(self):\n    self.m = "a"\n    f(self.m)', 'a', null],
    [
      'from pydantic_settings import BaseSettings\nclass S(BaseSettings):\n  m: str = "a"\n  class Config:\n    env_prefix = "P_"\nf(S().m)',
      'a',
      'P_M',
    ],
    [
      'from pydantic_settings import BaseSettings\nfrom pydantic import Field, SecretStr\nclass S(BaseSettings):\n  k: SecretStr = Field(..., alias="KEY_A")\ns = S()\nf(s.k.get_secret_value())',
      null,
      'KEY_A',
    ],
  ])('in Python: %j', (text, expected, variable) => {
    expect(argumentOf({ 'main.py': text })).toEqual({ text: expected, variable });
  });

  test.each<[string, string | null, string | null]>([
    ["f('a' + 'b');", 'ab', null],
    ['const M = `a` as const; f(M);', 'a', null],
    ['f(process.env.A_B!);', null, 'A_B'],
    ["f(process.env['A_B'] ?? 'x');", 'x', 'A_B'],
    ['f(Number(process.env.A_B || 5));', '5', 'A_B'],
    ["const { A_B = 'x' } = process.env; f(A_B);", 'x', 'A_B'],
    ["import { env } from 'node:process'; f(env.A_B);", null, 'A_B'],
    ["const c = { m: { id: 'a' } }; f(c.m.id);", 'a', null],
    [
      "import { z } from 'zod'; const env = z.object({ A_B: z.string().default('x') }).parse(process.env); f(env.A_B);",
      'x',
      'A_B',
    ],
    ["f(requireEnv('A_B'));", null, 'A_B'],
    ['f(new URL(process.env.A_B));', null, 'A_B'],
  ])('in JavaScript: %j', (text, expected, variable) => {
    expect(argumentOf({ 'main.ts': text })).toEqual({ text: expected, variable });
  });

  test.each(['M = "a"\nM = "b"\nf(M)', 'f(x + "a")', 'f(lambda: "a")', 'A = B\nB = A\nf(A)', 'f(f"{a}b")'])(
    'is not known: %j',
    (text) => {
      expect(argumentOf({ 'main.py': text })).toBeNull();
    },
  );

  test('a constant of another file', () => {
    const files = { 'app/main.py': 'from app.config import M\nf(M)', 'app/config.py': 'M = "a"' };
    expect(argumentOf(files)).toEqual({ text: 'a', variable: null });
  });
});

describe('environment variables', () => {
  const variablesOf = (path: string, text: string) =>
    [...codeOf({ [path]: text }).environment.variables.values()].map(
      ({ name, isOptional, places }) =>
        `${name}${isOptional ? '?' : ''} ${places.map(({ line }) => line).join(',')}`,
    );

  test('in Python', () => {
    const text = [
      'import os',
      'a = os.environ["A"]',
      'b = os.environ.get("B", "x")',
      'c = os.getenv("C")',
      'd = os.getenv("D") or "x"',
      'url = f"pg://{os.environ[\'E\']}/x"',
      '# os.environ["NOT_A_VARIABLE"]',
      'text = "os.environ[\'NOT_A_VARIABLE\']"',
      'os.environ.get("A", "x")',
      'os.environ["HOME"]',
    ].join('\n');
    expect(variablesOf('main.py', text)).toEqual(['A 2,9', 'B? 3', 'C 4', 'D? 5', 'E 6']);
  });

  test('in JavaScript', () => {
    const text = [
      'const a = process.env.A;',
      "const b = process.env['B'] ?? 'x';",
      'const c = `pg://${process.env.C}/x`;',
      "const { D, E = 'x', F: f } = process.env;",
      '// process.env.NOT_A_VARIABLE',
      "const text = 'process.env.NOT_A_VARIABLE';",
      "const g = process.env.G.split(',');",
      "const h = getEnv('H_KEY', 'x');",
      'if (process.env.NODE_ENV) run();',
    ].join('\n');
    expect(variablesOf('main.ts', text)).toEqual([
      'A 1',
      'B? 2',
      'C 3',
      'D 4',
      'E? 4',
      'F 4',
      'G 7',
      'H_KEY? 8',
    ]);
  });
});

test('values deeper than the stack are unknown', () => {
  const code = codeOf({ 'a.py': `x = ${'['.repeat(20_000)}${']'.repeat(20_000)}` });
  expect(code.assigned(code.sources[0]!, 'x')?.value.kind).toBe('list');
});

test.each<[string, string]>([
  ['a.py', 'ChatOpenAI('],
  ['a.py', 'x = y or '],
  ['a.ts', '`${'],
  ['a.ts', 'x.a()'],
  ['a.ts', '([{'],
  ['a.ts', '=/['],
  ['a.ts', 'a<'],
  ['a.ts', '{type:"function",'],
])('%s with %j repeated without end is read', (path, part) => {
  const code = codeOf({ [path]: part.repeat(4_000) });
  expect(collect(code)).toEqual([]);
});
