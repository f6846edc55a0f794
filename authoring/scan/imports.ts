import type { SyntaxNode } from '@lezer/common';
import { placeOf, textOf, type Place, type Source } from './source.ts';
import { childrenOf, literalOf, partsOf, targetOf } from './syntax.ts';

/** What a local name stands for. */
export interface Binding {
  /** As written: `langchain.tools`, `..clients`, `@ai-sdk/openai`. */
  module: string;
  /** Name in the module; `default` for its default export; empty for the module itself. */
  name: string;
}

export interface Imports {
  bindings: ReadonlyMap<string, Binding>;
  /** Each imported module with the place of its first import. */
  modules: ReadonlyMap<string, Place>;
}

/** A longer name is not the name of a module, and every pattern would be tried on it. */
const MAX_NAME = 200;

class Collector {
  readonly bindings = new Map<string, Binding>();
  readonly modules = new Map<string, Place>();
  readonly source: Source;

  constructor(source: Source) {
    this.source = source;
  }

  addModule(module: string, at: SyntaxNode): void {
    if (module.length <= MAX_NAME && !this.modules.has(module))
      this.modules.set(module, placeOf(this.source, at));
  }

  bind(local: string, module: string, name: string): void {
    if (local !== '' && module.length <= MAX_NAME) this.bindings.set(local, { module, name });
  }

  wordsOf(nodes: readonly SyntaxNode[]): string[] {
    return nodes.map((node) => textOf(this.source, node));
  }
}

export function importsOf(source: Source): Imports {
  const collector = new Collector(source);
  for (const node of source.nodes) READERS.get(node.name)?.(collector, node);
  return collector;
}

type Reader = (collector: Collector, node: SyntaxNode) => void;

const READERS: ReadonlyMap<string, Reader> = new Map([
  ['ImportStatement', readPythonImport],
  ['ImportDeclaration', readScriptImport],
  ['CallExpression', readLoaded],
  ['DynamicImport', readLoaded],
]);

/** The names of a list, with what each stands for in the module. */
const aliases = (parts: readonly string[][]): { name: string; local: string | null }[] =>
  parts.map((part) => {
    const at = part.indexOf('as');
    return at < 0
      ? { name: part.join(''), local: null }
      : { name: part.slice(0, at).join(''), local: part[at + 1] ?? '' };
  });

/** `import a.b as c, d`, or `from .a import b as c`. */
function readPythonImport(collector: Collector, node: SyntaxNode): void {
  const words = partsOf(node).map((part) => collector.wordsOf(part));
  const [first = [], ...rest] = words;
  const at = first.indexOf('import');
  const names = aliases([first.slice(at + 1), ...rest]);
  if (first[0] === 'from') {
    const module = first.slice(1, at).join('');
    if (at < 0 || module === '') return;
    collector.addModule(module, node);
    for (const { name, local } of names) collector.bind(local ?? name, module, name);
    return;
  }
  for (const { name, local } of names) {
    if (name === '') continue;
    collector.addModule(name, node);
    const [top = ''] = name.split('.');
    if (local === null) collector.bind(top, top, '');
    else collector.bind(local, name, '');
  }
}

/** `import a, { b as c } from "module"`, `import * as a from "module"` or `import "module"`. */
function readScriptImport(collector: Collector, node: SyntaxNode): void {
  const { source } = collector;
  const from = node.getChild('String');
  const module = from === null ? null : literalOf(from, source.text);
  if (module === null) return;
  collector.addModule(module, node);
  const group = node.getChild('ImportGroup');
  const parts = group === null ? [] : partsOf(group).map((part) => collector.wordsOf(part));
  const names = parts.map((words) => (words[0] === 'type' && words.length > 1 ? words.slice(1) : words));
  for (const { name, local } of aliases(names)) collector.bind(local ?? name, module, name);
  const own = node.getChild('VariableDefinition');
  if (own !== null)
    collector.bind(textOf(source, own), module, node.getChild('Star') === null ? 'default' : '');
}

const IMPORT_EQUALS = /\bimport\s+([\w$]+)\s*=\s*$/;

/** `const x = require("module")`, `const { a } = await import("module")`, `import x = require("module")`. */
function readLoaded(collector: Collector, node: SyntaxNode): void {
  const { source } = collector;
  const [loader, ...rest] = childrenOf(node);
  if (
    source.language === 'python' ||
    loader === undefined ||
    !/^(?:require|import)$/.test(textOf(source, loader))
  )
    return;
  const argument = rest.flatMap((each) => [each, ...childrenOf(each)]).find(({ name }) => name === 'String');
  const module = argument === undefined ? null : literalOf(argument, source.text);
  if (module === null) return;
  collector.addModule(module, node);
  const target = targetOf(node)?.target;
  const [, local] = IMPORT_EQUALS.exec(source.text.slice(Math.max(0, node.from - MAX_NAME), node.from)) ?? [];
  if (target === undefined) {
    if (local !== undefined) collector.bind(local, module, 'default');
  } else if (target.name === 'ObjectPattern')
    for (const { key, local: name } of patternOf(source, target)) collector.bind(name, module, key);
  else collector.bind(textOf(source, target), module, 'default');
}

/** The members of `{ a, b: c, d = "d" }`. */
export function patternOf(
  source: Source,
  pattern: SyntaxNode,
): { key: string; local: string; node: SyntaxNode; fallback: SyntaxNode | null }[] {
  return partsOf(pattern).flatMap(([property]) => {
    const [node, ...rest] = property === undefined ? [] : childrenOf(property);
    if (node === undefined || node.name === 'Spread') return [];
    const key = textOf(source, node);
    const alias = rest[0]?.name === ':' ? rest[1] : undefined;
    const equals = rest.findIndex(({ name }) => name === 'Equals');
    return [
      {
        key,
        local: alias === undefined ? key : textOf(source, alias),
        node,
        fallback: equals < 0 ? null : (rest[equals + 1] ?? null),
      },
    ];
  });
}
