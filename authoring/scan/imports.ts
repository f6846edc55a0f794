import { isFirstOnLine, isName, placeOf, wordAt, type Place, type Source } from './source.ts';

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

  addModule(module: string, at: number): void {
    if (module.length <= MAX_NAME && !this.modules.has(module))
      this.modules.set(module, placeOf(this.source, at));
  }

  bind(local: string, module: string, name: string): void {
    if (local !== '' && module.length <= MAX_NAME) this.bindings.set(local, { module, name });
  }
}

export function importsOf(source: Source): Imports {
  const collector = new Collector(source);
  const readers = source.language === 'python' ? PYTHON : SCRIPT;
  for (const index of source.tokens.keys()) readers.get(wordAt(source, index))?.(collector, index);
  return collector;
}

type Reader = (collector: Collector, at: number) => void;

function readPythonImport(collector: Collector, at: number): void {
  const { source } = collector;
  if (!isFirstOnLine(source, at)) return;
  let next = at;
  do {
    const path = dottedName(source, next + 1);
    if (path.name === '') return;
    collector.addModule(path.name, at);
    const [top = ''] = path.name.split('.');
    const hasAlias = wordAt(source, path.next) === 'as';
    if (hasAlias) collector.bind(wordAt(source, path.next + 1), path.name, '');
    else collector.bind(top, top, '');
    next = hasAlias ? path.next + 2 : path.next;
  } while (wordAt(source, next) === ',');
}

function readPythonFrom(collector: Collector, at: number): void {
  const { source } = collector;
  if (!isFirstOnLine(source, at)) return;
  const module = dottedName(source, at + 1);
  if (module.name === '' || wordAt(source, module.next) !== 'import') return;
  collector.addModule(module.name, at);
  let next = module.next + 1;
  if (wordAt(source, next) === '(') next += 1;
  while (isName(source, next)) {
    const name = wordAt(source, next);
    const hasAlias = wordAt(source, next + 1) === 'as';
    collector.bind(hasAlias ? wordAt(source, next + 2) : name, module.name, name);
    next += hasAlias ? 3 : 1;
    if (wordAt(source, next) !== ',') return;
    next += 1;
  }
}

const PYTHON: ReadonlyMap<string, Reader> = new Map([
  ['import', readPythonImport],
  ['from', readPythonFrom],
]);

/** `a.b.c`, or relative with leading dots. */
function dottedName(source: Source, at: number): { name: string; next: number } {
  let [name, next] = ['', at];
  while (/^\.{1,3}$/.test(wordAt(source, next))) name += wordAt(source, next++);
  while (isName(source, next) && wordAt(source, next) !== 'import') {
    name += wordAt(source, next++);
    if (wordAt(source, next) !== '.') break;
    name += '.';
    next += 1;
  }
  return { name, next };
}

function readScriptImport(collector: Collector, at: number): void {
  const { source } = collector;
  if (wordAt(source, at + 1) === '(') {
    const before = wordAt(source, at - 1) === 'await' ? at - 2 : at - 1;
    readLoaded(collector, { at: at + 2, before });
    return;
  }
  const from = fromClause(source, at + 1);
  if (from === null) return;
  collector.addModule(from.module, at);
  bindClause(collector, { at: at + 1, end: from.at, module: from.module });
}

function readRequire(collector: Collector, at: number): void {
  if (wordAt(collector.source, at + 1) === '(') readLoaded(collector, { at: at + 2, before: at - 1 });
}

const SCRIPT: ReadonlyMap<string, Reader> = new Map([
  ['import', readScriptImport],
  ['require', readRequire],
]);

const MAX_CLAUSE = 400;

/** The module of `import … from "module"` or `import "module"`, and the token before it. */
function fromClause(source: Source, start: number): { module: string; at: number } | null {
  for (let at = start; at < start + MAX_CLAUSE; at += 1) {
    const token = source.tokens[at];
    if (token?.kind === 'string') {
      const isModule = at === start || wordAt(source, at - 1) === 'from';
      return isModule ? { module: token.text, at: at - 1 } : null;
    }
    if (token?.kind !== 'name' && !/^[*,{}]$/.test(wordAt(source, at))) return null;
  }
  return null;
}

function bindClause(
  collector: Collector,
  { at, end, module }: { at: number; end: number; module: string },
): void {
  const { source } = collector;
  let next = at;
  if (wordAt(source, next) === 'type' && next + 1 < end) next += 1;
  while (next < end) {
    const word = wordAt(source, next);
    if (word === '{') {
      bindMembers(collector, { open: next, module, separator: 'as' });
      next = (source.partner[next] ?? next) + 1;
    } else if (word === '*') {
      collector.bind(wordAt(source, next + 2), module, '');
      next += 3;
    } else {
      if (isName(source, next)) collector.bind(word, module, 'default');
      next += 1;
    }
  }
}

/** `{ a, b as c }` of an import, or `{ a, b: c }` of a declaration. */
function bindMembers(
  collector: Collector,
  { open, module, separator }: { open: number; module: string; separator: 'as' | ':' },
): void {
  const { source } = collector;
  const close = source.partner[open] ?? open;
  for (let at = open + 1; at < close && at < open + MAX_CLAUSE; at += 1) {
    if (!isName(source, at)) continue;
    if (wordAt(source, at) === 'type' && isName(source, at + 1)) continue;
    const name = wordAt(source, at);
    const hasAlias = wordAt(source, at + 1) === separator;
    collector.bind(hasAlias ? wordAt(source, at + 2) : name, module, name);
    if (hasAlias) at += 2;
  }
}

/** `const x = require("module")`, `const { a } = await import("module")`. */
function readLoaded(collector: Collector, { at, before }: { at: number; before: number }): void {
  const { source } = collector;
  const token = source.tokens[at];
  if (token?.kind !== 'string') return;
  collector.addModule(token.text, at);
  if (wordAt(source, before) !== '=') return;
  if (isName(source, before - 1)) collector.bind(wordAt(source, before - 1), token.text, 'default');
  const open = wordAt(source, before - 1) === '}' ? (source.partner[before - 1] ?? -1) : -1;
  if (open >= 0) bindMembers(collector, { open, module: token.text, separator: ':' });
}
