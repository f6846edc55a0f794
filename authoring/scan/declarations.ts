import type { SyntaxNode } from '@lezer/common';
import { textOf, type Source } from './source.ts';
import { assignedTo, childrenOf, literalOf, partsOf } from './syntax.ts';
import { valueOf } from './values.ts';

/** A Python function. */
export interface FunctionDeclaration {
  name: string;
  /** First paragraph of its docstring. */
  description: string | null;
  node: SyntaxNode;
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
  node: SyntaxNode;
}

export interface Field {
  /** Null: it has none. */
  value: SyntaxNode | null;
  /** Whether its type allows None. */
  isOptional: boolean;
  node: SyntaxNode;
}

export interface Decorator {
  /** As written. */
  path: string;
  /** Bracket of its arguments; null: it has none. */
  open: SyntaxNode | null;
  function: FunctionDeclaration;
}

/** First paragraph of a documentation text, on one line. */
export function paragraphOf(text: string): string | null {
  const [paragraph = ''] = text.trim().split(/\n\s*\n/, 1);
  const line = paragraph.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? null : line;
}

/** The documentation in the body of a Python function or class. */
function documentationOf({ text }: Source, node: SyntaxNode): string | null {
  const body = node.getChild('Body');
  const first = body === null ? undefined : childrenOf(body).find(({ name }) => name !== ':');
  const string = first?.name === 'ExpressionStatement' ? first.firstChild : null;
  return paragraphOf(string === null ? '' : (literalOf(string, text) ?? ''));
}

/** Python functions; of several with the same name the first. */
export function functionsOf(source: Source): Map<string, FunctionDeclaration> {
  const functions = new Map<string, FunctionDeclaration>();
  for (const node of source.nodes) {
    const found = node.name === 'FunctionDefinition' ? functionAt(source, node) : null;
    if (found !== null && !functions.has(found.name)) functions.set(found.name, found);
  }
  return functions;
}

function functionAt(source: Source, node: SyntaxNode): FunctionDeclaration | null {
  const name = node.getChild('VariableName');
  return name === null
    ? null
    : { name: textOf(source, name), description: documentationOf(source, node), node: name };
}

/** Decorators of Python functions. */
export function decoratorsOf(source: Source): Decorator[] {
  return source.nodes.flatMap((node) => {
    const definition = node.name === 'DecoratedStatement' ? node.getChild('FunctionDefinition') : null;
    const declared = definition === null ? null : functionAt(source, definition);
    if (declared === null) return [];
    return node.getChildren('Decorator').map((decorator) => {
      const path = decorator
        .getChildren('VariableName')
        .map((name) => textOf(source, name))
        .join('.');
      return { path, open: decorator.getChild('ArgList'), function: declared };
    });
  });
}

/** Python classes, and classes of JavaScript that extend another one. */
export function classesOf(source: Source): ClassDeclaration[] {
  return source.nodes.flatMap((node) => {
    if (node.name === 'ClassDefinition') return pythonClass(source, node) ?? [];
    return node.name === 'ClassDeclaration' ? (scriptClass(source, node) ?? []) : [];
  });
}

const ENV_PREFIX = /^[^#\n]*\benv_prefix\s*=\s*["'](\w*)["']/m;

function pythonClass(source: Source, node: SyntaxNode): ClassDeclaration | null {
  const [name, body, list] = [node.getChild('VariableName'), node.getChild('Body'), node.getChild('ArgList')];
  if (name === null) return null;
  const fields = new Map<string, Field>();
  for (const statement of body?.getChildren('AssignStatement') ?? []) {
    const [target, type] = childrenOf(statement);
    if (target?.name !== 'VariableName') continue;
    const isOptional = type?.name === 'TypeDef' && /\b(?:None|Optional)\b/.test(textOf(source, type));
    fields.set(textOf(source, target), { value: assignedTo(target), isOptional, node: target });
  }
  return {
    name: textOf(source, name),
    bases: (list === null ? [] : partsOf(list)).flatMap(([base, ...rest]) =>
      base === undefined || rest.length > 0 ? [] : pathOf(source, base),
    ),
    description: documentationOf(source, node),
    fields,
    prefix: ENV_PREFIX.exec(textOf(source, node))?.[1] ?? '',
    node: name,
  };
}

/** `Base` of `Base` and of `Base[T]`. */
function pathOf(source: Source, node: SyntaxNode): string[] {
  const value = valueOf(source, node);
  return value.kind === 'name' ? [value.path.replace(/\[\]$/, '')] : [];
}

/** A class that extends another one, with the fields that have a value. */
function scriptClass(source: Source, node: SyntaxNode): ClassDeclaration | null {
  const name = node.getChild('VariableDefinition');
  const parts = childrenOf(node);
  const base = parts[parts.findIndex((each) => each.name === 'extends') + 1];
  const bases = base === undefined ? [] : pathOf(source, base);
  if (name === null || bases.length === 0) return null;
  const fields = new Map<string, Field>();
  for (const property of node.getChild('ClassBody')?.getChildren('PropertyDeclaration') ?? []) {
    const field = property.getChild('PropertyDefinition');
    const value = field === null ? null : assignedTo(field);
    if (field !== null && value !== null)
      fields.set(textOf(source, field), { value, isOptional: false, node: field });
  }
  return { name: textOf(source, name), bases, description: null, fields, prefix: '', node: name };
}

/** Each value that is assigned to a name, or to a member of `self` or `this`, which is named with it: `self.model`. */
export function assignmentsOf(source: Source): Map<string, SyntaxNode[]> {
  const found = new Map<string, SyntaxNode[]>();
  for (const node of source.nodes)
    for (const target of targetsIn(node)) {
      const [name, value] = [textOf(source, target), assignedTo(target)];
      const isMember = target.name === 'MemberExpression';
      if (value === null || (isMember && !/^(?:self|this)\.[\w$]+$/.test(name))) continue;
      found.set(name, [...(found.get(name) ?? []), value].slice(0, 2));
    }
  return found;
}

function targetsIn(node: SyntaxNode): readonly SyntaxNode[] {
  if (node.name === 'VariableDeclaration') return node.getChildren('VariableDefinition');
  const [target] = /^Assign(?:Statement|mentExpression)$/.test(node.name) ? childrenOf(node) : [];
  if (target === undefined) return [];
  const isName = target.name === 'VariableName' && node.name === 'AssignStatement';
  return isName || target.name === 'MemberExpression' ? [target] : [];
}
