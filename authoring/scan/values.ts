import type { SyntaxNode } from '@lezer/common';
import { textOf, type Source } from './source.ts';
import { childrenOf, isLink, literalOf, partsOf } from './syntax.ts';

/**
 * A value in the code, as far as it can be read without running the program. `path` is a dotted name. A subscript with a literal
 * is a part of the path: `os.environ["KEY"]` is `os.environ.KEY`.
 */
export type Value =
  | { kind: 'text'; text: string; node: SyntaxNode }
  | { kind: 'number'; number: number; node: SyntaxNode }
  | { kind: 'flag'; flag: boolean; node: SyntaxNode }
  | { kind: 'list'; items: Value[]; node: SyntaxNode }
  | ObjectValue
  | { kind: 'name'; path: string; receiver: CallValue | null; node: SyntaxNode }
  | CallValue
  /** `a ?? b`, `a || b` or `a or b`. */
  | { kind: 'either'; first: Value; second: Value; node: SyntaxNode }
  | { kind: 'unknown'; node: SyntaxNode };

export interface ObjectValue {
  kind: 'object';
  members: ReadonlyMap<string, Value>;
  node: SyntaxNode;
}

export interface CallValue {
  kind: 'call';
  /** Earlier calls of a chain are in the path with empty brackets: `Guard().use`. */
  path: string;
  args: Arguments;
  /** The last earlier call of a chain. */
  receiver: CallValue | null;
  /** Its bracket. */
  open: SyntaxNode;
  node: SyntaxNode;
}

export interface Arguments {
  positional: readonly Value[];
  named: ReadonlyMap<string, Value>;
}

export const NO_ARGUMENTS: Arguments = { positional: [], named: new Map() };
/** Deeper values are unknown, so that the depth of the code does not become the depth of the stack. */
const MAX_DEPTH = 40;
/** A longer chain is not the name of a known function. */
const MAX_LINKS = 80;
const DEFAULT = /^(?:\?\?|\|\||or)$/;
const CAST = /^(?:as|satisfies)$/;
const HEAD = /^(?:VariableName|ImportMeta|self|this|super)$/;

/** The value of an expression. */
export function valueOf(source: Source, node: SyntaxNode, depth = 0): Value {
  const text = literalOf(node, source.text);
  if (text !== null) return { kind: 'text', text, node };
  if (depth > MAX_DEPTH) return { kind: 'unknown', node };
  if (isLink(node) || HEAD.test(node.name)) return chain(source, node, depth);
  switch (node.name) {
    case 'Number': {
      const number = Number(textOf(source, node).replaceAll('_', ''));
      return Number.isFinite(number) ? { kind: 'number', number, node } : { kind: 'unknown', node };
    }
    case 'Boolean':
    case 'BooleanLiteral':
      return { kind: 'flag', flag: /^true$/i.test(textOf(source, node)), node };
    case 'ArrayExpression':
      return { kind: 'list', items: partsOf(node).flatMap((part) => itemsOf(source, part, depth)), node };
    case 'ObjectExpression':
    case 'DictionaryExpression':
      return { kind: 'object', members: membersOf(source, node, depth), node };
    case 'ContinuedString':
      return joined(source, childrenOf(node), { node, depth });
    case 'BinaryExpression':
      return binary(source, node, depth);
    case 'AwaitExpression':
    case 'ParenthesizedExpression': {
      const [inner] = partsOf(node)
        .flat()
        .filter(({ name }) => name !== 'await');
      return inner === undefined ? { kind: 'unknown', node } : valueOf(source, inner, depth + 1);
    }
    default:
      return { kind: 'unknown', node };
  }
}

/** The operator and the operands of `a ?? b`, `a || b` and `a or b`; null: another expression. */
export function defaultIn(
  source: Source,
  node: SyntaxNode | null,
): [first: SyntaxNode, second: SyntaxNode] | null {
  if (node?.name !== 'BinaryExpression') return null;
  const [first, operator, second] = childrenOf(node);
  if (first === undefined || operator === undefined || second === undefined) return null;
  return DEFAULT.test(textOf(source, operator)) ? [first, second] : null;
}

function binary(source: Source, node: SyntaxNode, depth: number): Value {
  const [first, operator, second] = childrenOf(node);
  const mark = operator === undefined ? '' : textOf(source, operator);
  if (first !== undefined && CAST.test(mark)) return valueOf(source, first, depth + 1);
  if (first === undefined || second === undefined) return { kind: 'unknown', node };
  if (mark === '+') return joined(source, [first, second], { node, depth });
  if (!DEFAULT.test(mark)) return { kind: 'unknown', node };
  const [a, b] = [valueOf(source, first, depth + 1), valueOf(source, second, depth + 1)];
  return { kind: 'either', first: a, second: b, node };
}

/** Literals that follow each other are one text. */
function joined(
  source: Source,
  parts: readonly SyntaxNode[],
  { node, depth }: { node: SyntaxNode; depth: number },
): Value {
  const texts = parts.map((part) => valueOf(source, part, depth + 1));
  const text = texts.map((each) => (each.kind === 'text' ? each.text : '')).join('');
  return texts.every(({ kind }) => kind === 'text')
    ? { kind: 'text', text, node }
    : { kind: 'unknown', node };
}

/** A name with what follows it: `.member`, `["member"]`, `[item]` and calls, with types between them. */
function chain(source: Source, node: SyntaxNode, depth: number): Value {
  const links: SyntaxNode[][] = [];
  let head = node;
  while (isLink(head)) {
    const [first, ...rest] = childrenOf(head).filter(({ name }) => name !== 'new');
    if (first === undefined || links.length === MAX_LINKS) return { kind: 'unknown', node };
    links.unshift(rest);
    head = first;
  }
  if (!HEAD.test(head.name) || textOf(source, head) === 'undefined') return { kind: 'unknown', node };
  let path = textOf(source, head);
  let receiver: CallValue | null = null;
  let value: Value = { kind: 'name', path, receiver, node };
  for (const link of links) {
    const open = link.find(({ name }) => name === 'ArgList');
    if (open === undefined) {
      const member = memberIn(source, link);
      if (member === '') continue;
      path += member;
      value = { kind: 'name', path, receiver, node };
    } else {
      value = { kind: 'call', path, args: argumentsIn(source, open, depth + 1), receiver, open, node };
      receiver = value;
      path += '()';
    }
  }
  return value;
}

/** What a link adds to the path: nothing for a type. */
function memberIn(source: Source, link: readonly SyntaxNode[]): string {
  const last = link.findLast(({ name }) => name !== ']');
  if (last?.name.endsWith('PropertyName')) return `.${textOf(source, last)}`;
  if (!link.some(({ name }) => name === '[')) return '';
  const literal = last === undefined ? null : literalOf(last, source.text);
  return literal === null ? '[]' : `.${literal}`;
}

/** An item of a list or of arguments. A spread value is an item like any other. */
function itemsOf(source: Source, part: readonly SyntaxNode[], depth: number): Value[] {
  const [node, other] = part.filter(({ name }) => name !== 'Spread' && name !== '*');
  if (node === undefined) return [];
  return [other === undefined ? valueOf(source, node, depth + 1) : { kind: 'unknown', node }];
}

function membersOf(source: Source, node: SyntaxNode, depth: number): ReadonlyMap<string, Value> {
  const members = new Map<string, Value>();
  for (const part of partsOf(node)) {
    const [key, mark, value] = part[0]?.name === 'Property' ? childrenOf(part[0]) : part;
    if (key === undefined || !(key.name === 'String' || key.name === 'PropertyDefinition')) continue;
    const name = literalOf(key, source.text) ?? textOf(source, key);
    if (mark === undefined) members.set(name, { kind: 'name', path: name, receiver: null, node: key });
    else if (mark.name === ':' && value !== undefined) members.set(name, valueOf(source, value, depth + 1));
    else members.set(name, { kind: 'unknown', node: key });
  }
  return members;
}

/** The arguments in a bracket. */
export function argumentsIn(source: Source, open: SyntaxNode, depth = 0): Arguments {
  if (depth > MAX_DEPTH) return NO_ARGUMENTS;
  const positional: Value[] = [];
  const named = new Map<string, Value>();
  for (const part of partsOf(open)) {
    const [first, mark, value] = part;
    if (first?.name === '**') continue;
    if (first !== undefined && mark?.name === 'AssignOp' && value !== undefined)
      named.set(textOf(source, first), valueOf(source, value, depth + 1));
    else positional.push(...itemsOf(source, part, depth));
  }
  return { positional, named };
}

/** An argument by position, or by the first of its names: a named argument, or a member of an object that is an argument. */
export function optionOf({ positional, named }: Arguments, keys: readonly (string | number)[]): Value | null {
  for (const key of keys) {
    if (typeof key === 'number') {
      const value = positional[key];
      if (value !== undefined && value.kind !== 'object') return value;
      continue;
    }
    const value = named.get(key) ?? memberOf(positional, key);
    if (value !== undefined) return value;
  }
  return null;
}

function memberOf(positional: readonly Value[], key: string): Value | undefined {
  for (const value of positional) {
    const member = value.kind === 'object' ? value.members.get(key) : undefined;
    if (member !== undefined) return member;
  }
  return undefined;
}
