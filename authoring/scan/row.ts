import type { Call, Code } from './code.ts';
import type { ClassDeclaration, Decorator } from './declarations.ts';
import type { Found } from './discovery.ts';
import type { Source } from './source.ts';
import type { Language } from './syntax.ts';
import type { CallValue, ObjectValue, Value } from './values.ts';

interface Pattern {
  language: Language | 'any';
  /** Matches a module, or a qualified name (`Code.qualify`). */
  name: RegExp;
  /** Module that a file of the agent imports. For methods of objects whose class is not known. */
  needs?: RegExp;
}

/** Finds an import. */
export interface ImportRow extends Pattern {
  found: readonly Found[];
  /** Whether tests count: evaluations usually are tests. */
  inTests?: true;
}

/** Finds a call. */
export interface CallRow extends Pattern {
  read: (call: Call, code: Code) => readonly Found[];
}

/** A Python function with the decorator that a row describes. */
export interface Decorated {
  source: Source;
  decorator: Decorator;
  /** Null: the decorator has no arguments. */
  call: Pick<Call, 'source' | 'args'> | null;
}

/** Finds a decorated function; `name` matches the decorator. */
export interface DecoratorRow extends Pattern {
  read: (decorated: Decorated, code: Code) => readonly Found[];
}

/** Finds a subclass; `name` matches a base class. */
export interface ClassRow extends Pattern {
  read: (found: { source: Source; declaration: ClassDeclaration }, code: Code) => readonly Found[];
}

/** Finds a literal object by one of its members, such as `{"type": "function", …}`. */
export interface ObjectRow extends Omit<Pattern, 'name'> {
  /** Key of the member. */
  key: string;
  /** Value of the member, if it matters. */
  value?: RegExp;
  read: (object: { source: Source; value: ObjectValue }, code: Code) => readonly Found[];
}

/** An object literal as the arguments of a call, so that its members are options. */
export const asCall = (source: Source, value: Value): Pick<Call, 'source' | 'args'> => ({
  source,
  args: { positional: [value], named: new Map() },
});

/** The call that a value is; null for any other value. */
export const callOf = (value: Value | null): CallValue | null => (value?.kind === 'call' ? value : null);

/** Module of a file as its language writes it. */
export function moduleOf({ path, language }: Source): string {
  if (language === 'javascript') return path;
  return path
    .replace(/^src\//, '')
    .replace(/(?:\/__init__)?\.py$/, '')
    .replaceAll('/', '.');
}
