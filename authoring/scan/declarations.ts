import { indentOf, isFirstOnLine, isName, wordAt, type Source } from './source.ts';

/** A Python function. */
export interface FunctionDeclaration {
  name: string;
  /** First paragraph of its docstring. */
  description: string | null;
  at: number;
}

/** A class with the values of its fields. */
export interface ClassDeclaration {
  name: string;
  /** Names of the base classes, as written. */
  bases: readonly string[];
  description: string | null;
  fields: ReadonlyMap<string, Field>;
  /** Variables that begin with this belong to its fields, for classes of pydantic-settings. */
  prefix: string;
  at: number;
}

export interface Field {
  /** First token of its value; null: it has none. */
  value: number | null;
  /** Whether its type allows None. */
  isOptional: boolean;
  at: number;
}

export interface Decorator {
  /** As written. */
  path: string;
  /** Bracket of its arguments; null: it has none. */
  open: number | null;
  function: FunctionDeclaration;
  at: number;
}

/** Longest header of a function or class, and longest list of decorators, in tokens. */
const MAX_HEADER = 2000;

/** First paragraph of a documentation text, on one line. */
export function paragraphOf(text: string): string | null {
  const [paragraph = ''] = text.trim().split(/\n\s*\n/, 1);
  const line = paragraph.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? null : line;
}

/** The token after the `:` that ends the header of a Python block; -1: there is none. */
function bodyStart(source: Source, at: number): number {
  for (let next = at; next < at + MAX_HEADER && next < source.tokens.length;) {
    if (wordAt(source, next) === ':') return next + 1;
    next = Math.max(source.partner[next] ?? next, next) + 1;
  }
  return -1;
}

function documentationAt(source: Source, at: number): string | null {
  const token = source.tokens[at];
  return token?.kind === 'string' && isFirstOnLine(source, at) ? paragraphOf(token.text) : null;
}

export function functionsOf(source: Source): Map<string, FunctionDeclaration> {
  const functions = new Map<string, FunctionDeclaration>();
  if (source.language !== 'python') return functions;
  for (const at of source.tokens.keys()) {
    if (wordAt(source, at) !== 'def' || !isName(source, at + 1)) continue;
    const found = functionAt(source, at);
    if (!functions.has(found.name)) functions.set(found.name, found);
  }
  return functions;
}

function functionAt(source: Source, def: number): FunctionDeclaration {
  const body = bodyStart(source, def + 2);
  return {
    name: wordAt(source, def + 1),
    description: body < 0 ? null : documentationAt(source, body),
    at: def + 1,
  };
}

/** Decorators of Python functions. */
export function decoratorsOf(source: Source): Decorator[] {
  const found: Decorator[] = [];
  if (source.language !== 'python') return found;
  let pending: Omit<Decorator, 'function'>[] = [];
  for (let at = 0; at < source.tokens.length; at += 1) {
    const word = wordAt(source, at);
    if (word === '@' && isFirstOnLine(source, at)) {
      const decorator = decoratorAt(source, at + 1);
      pending.push(decorator);
      at = decorator.end;
    } else if (word === 'def') {
      const declared = functionAt(source, at);
      found.push(...pending.map((each) => ({ ...each, function: declared })));
      pending = [];
    } else if (word !== 'async') pending = [];
  }
  return found;
}

function decoratorAt(source: Source, at: number): Omit<Decorator, 'function'> & { end: number } {
  let [path, next] = [wordAt(source, at), at + 1];
  while (wordAt(source, next) === '.' && isName(source, next + 1)) {
    path += `.${wordAt(source, next + 1)}`;
    next += 2;
  }
  const open = wordAt(source, next) === '(' ? next : null;
  return { path, open, at, end: open === null ? next - 1 : (source.partner[open] ?? open) };
}

export function classesOf(source: Source): ClassDeclaration[] {
  const found: ClassDeclaration[] = [];
  for (const at of source.tokens.keys()) {
    if (wordAt(source, at) !== 'class' || !isName(source, at + 1)) continue;
    const declared = source.language === 'python' ? pythonClass(source, at) : scriptClass(source, at);
    if (declared !== null) found.push(declared);
  }
  return found;
}

function pythonClass(source: Source, at: number): ClassDeclaration | null {
  const indent = indentOf(source, at);
  const body = bodyStart(source, at + 2);
  if (indent < 0 || body < 0) return null;
  const fields = new Map<string, Field>();
  const fieldIndent = indentOf(source, body);
  let prefix = '';
  let next = body;
  for (; next < source.tokens.length; next += 1) {
    const column = indentOf(source, next);
    // A line inside brackets may begin anywhere.
    const isStatement = column >= 0 && source.parent[next] === source.parent[at];
    if (isStatement && column <= indent) break;
    const token = source.tokens[next + 2];
    if (wordAt(source, next) === 'env_prefix' && token?.kind === 'string') prefix = token.text;
    if (isStatement && column === fieldIndent) addField(source, next, fields);
  }
  return {
    name: wordAt(source, at + 1),
    bases: basesAt(source, at + 2),
    description: documentationAt(source, body),
    fields,
    prefix,
    at: at + 1,
  };
}

function basesAt(source: Source, open: number): string[] {
  if (wordAt(source, open) !== '(') return [];
  const close = Math.min(source.partner[open] ?? open, open + MAX_HEADER);
  const bases = [''];
  for (let at = open + 1; at < close; at += 1) {
    const word = wordAt(source, at);
    if (word === ',') bases.push('');
    else if (isName(source, at) || word === '.') bases.push(`${bases.pop() ?? ''}${word}`);
  }
  return bases.filter((base) => base !== '');
}

/** `name: type = value`, `name: type` or `name = value` at the start of a line. */
function addField(source: Source, at: number, fields: Map<string, Field>): void {
  const mark = wordAt(source, at + 1);
  if (!isName(source, at) || (mark !== ':' && mark !== '=')) return;
  let next = at + 1;
  let isOptional = false;
  while (mark === ':' && wordAt(source, next) !== '=') {
    next += 1;
    if (next >= source.tokens.length || next > at + MAX_HEADER) break;
    if (/^(?:None|Optional)$/.test(wordAt(source, next))) isOptional = true;
    if (isFirstOnLine(source, next)) break;
  }
  const hasValue = wordAt(source, next) === '=';
  fields.set(wordAt(source, at), { value: hasValue ? next + 1 : null, isOptional, at });
}

/** A class that extends another one, with the fields that have a value. */
function scriptClass(source: Source, at: number): ClassDeclaration | null {
  if (wordAt(source, at + 2) !== 'extends' || !isName(source, at + 3)) return null;
  let [base, next] = [wordAt(source, at + 3), at + 4];
  while (wordAt(source, next) === '.' && isName(source, next + 1)) {
    base += `.${wordAt(source, next + 1)}`;
    next += 2;
  }
  while (next < at + MAX_HEADER && next < source.tokens.length && wordAt(source, next) !== '{') next += 1;
  if (wordAt(source, next) !== '{') return null;
  const fields = new Map<string, Field>();
  for (let index = next + 1; index < (source.partner[next] ?? 0); index += 1) {
    if (wordAt(source, index) !== '=' || source.parent[index] !== next) continue;
    const name = declaredBefore(source, index);
    if (name !== null) fields.set(wordAt(source, name), { value: index + 1, isOptional: false, at: name });
  }
  return { name: wordAt(source, at + 1), bases: [base], description: null, fields, prefix: '', at: at + 1 };
}

const MAX_TYPE = 12;

/** The name that `=` assigns to, in front of an optional type annotation; null: the left side is something else. */
export function declaredBefore(source: Source, equals: number): number | null {
  const last = isName(source, equals - 1) ? equals - 1 : null;
  const isPlain = /^(?:const|let|var|\.)$/.test(wordAt(source, equals - 2));
  if (last !== null && (isPlain || isFirstOnLine(source, last))) return last;
  for (let at = equals - 2; at >= equals - MAX_TYPE && at > 0; at -= 1) {
    const mark = wordAt(source, at);
    if (mark === ':' && isName(source, at - 1)) return at - 1;
    if ((!isName(source, at) && !/^[.,|<>[\]]$/.test(mark)) || isFirstOnLine(source, at)) break;
  }
  return last;
}

/** Each value that is assigned to a name, or to a member of `self` or `this`, which is named with it: `self.model`. */
export function assignmentsOf(source: Source): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const at of source.tokens.keys()) {
    if (wordAt(source, at) !== '=') continue;
    const name = assignedName(source, at);
    if (name !== null) found.set(name, [...(found.get(name) ?? []), at + 1].slice(0, 2));
  }
  return found;
}

function assignedName(source: Source, equals: number): string | null {
  const at = declaredBefore(source, equals);
  if (at === null) return null;
  const owner = wordAt(source, at - 1) === '.' ? wordAt(source, at - 2) : '';
  if (owner === 'self' || owner === 'this') return `${owner}.${wordAt(source, at)}`;
  const isDeclared =
    source.language === 'python'
      ? source.parent[equals] === -1 && isFirstOnLine(source, at)
      : /^(?:const|let|var)$/.test(wordAt(source, at - 1));
  return isDeclared ? wordAt(source, at) : null;
}
