import { isFirstOnLine, isName, wordAt, type Source } from './source.ts';

/**
 * A value in the code, as far as it can be read without running the program. `at` is the index of its first token, `path` a dotted
 * name. A subscript with a literal is a part of the path: `os.environ["KEY"]` is `os.environ.KEY`.
 */
export type Value =
  | { kind: 'text'; text: string; at: number }
  | { kind: 'number'; number: number; at: number }
  | { kind: 'flag'; flag: boolean; at: number }
  | { kind: 'list'; items: Value[]; at: number }
  | { kind: 'object'; members: ReadonlyMap<string, Value>; at: number }
  | { kind: 'name'; path: string; receiver: CallValue | null; at: number }
  | CallValue
  /** `a ?? b`, `a || b` or `a or b`. */
  | { kind: 'either'; first: Value; second: Value; at: number }
  | { kind: 'unknown'; at: number };

export interface CallValue {
  kind: 'call';
  /** Earlier calls of a chain are in the path with empty brackets: `Guard().use`. */
  path: string;
  args: Arguments;
  /** The last earlier call of a chain. */
  receiver: CallValue | null;
  /** Its opening bracket. */
  open: number;
  at: number;
}

export interface Arguments {
  positional: readonly Value[];
  named: ReadonlyMap<string, Value>;
}

/** A value and the token after it. */
interface Read {
  value: Value;
  next: number;
}

export const NO_ARGUMENTS: Arguments = { positional: [], named: new Map() };
/** Deeper values are unknown, so that the depth of the code does not become the depth of the stack. */
const MAX_DEPTH = 40;
const MAX_GENERIC = 60;
const MAX_PATH = 300;
const END = /^[,)\]};]$/;
const DEFAULT = /^(?:\?\?|\|\||or)$/;
/** Words that continue a value on the next line. */
const CONTINUES = /^(?:if|else|or|and|in|is|not|as|satisfies|instanceof)$/;
/** Words that begin something else than a value with a name. */
const NO_VALUE = /^(?:lambda|function|async|class|not|yield|typeof|delete|void|None|null|undefined)$/;
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
]);

const unknown = (at: number): Value => ({ kind: 'unknown', at });

/** The value that begins at a token. */
export const valueAt = (source: Source, at: number): Value => read(source, at, 0).value;

/** The value at a token without its operators, and the token after it. */
export const primaryAt = (source: Source, at: number): Read => primary(source, at, 0);

/** The arguments of the call whose bracket is at `open`. */
export const argumentsAt = (source: Source, open: number): Arguments => readArguments(source, open, 0);

function read(source: Source, at: number, depth: number): Read {
  if (depth > MAX_DEPTH) return { value: unknown(at), next: at + 1 };
  const first = primary(source, at, depth);
  const next = skipCasts(source, first.next);
  if (DEFAULT.test(wordAt(source, next))) {
    const second = read(source, next + 1, depth + 1);
    return { value: { kind: 'either', first: first.value, second: second.value, at }, next: second.next };
  }
  return { value: endsValue(source, next) ? first.value : unknown(at), next };
}

function endsValue(source: Source, index: number): boolean {
  const word = wordAt(source, index);
  if (index >= source.tokens.length || END.test(word)) return true;
  const beginsStatement = isName(source, index) ? !CONTINUES.test(word) : word === '@';
  return beginsStatement && isFirstOnLine(source, index);
}

/** `x!`, `x as T` and `x satisfies T` have the value of `x`. */
function skipCasts(source: Source, from: number): number {
  let at = from;
  if (source.language === 'python') return at;
  while (wordAt(source, at) === '!') at += 1;
  if (!/^(?:as|satisfies)$/.test(wordAt(source, at))) return at;
  while (at < source.tokens.length && !endsValue(source, at) && !DEFAULT.test(wordAt(source, at)))
    at = afterGroup(source, at);
  return at;
}

/** The token after a token, or after the bracket that it opens. */
const afterGroup = (source: Source, at: number): number => Math.max(source.partner[at] ?? at, at) + 1;

function primary(source: Source, at: number, depth: number): Read {
  const token = source.tokens[at];
  switch (token?.kind) {
    case 'string':
      return text(source, at);
    case 'template': {
      let next = at + 1;
      while (wordAt(source, next) === '${') next = afterGroup(source, next);
      return { value: unknown(at), next };
    }
    case 'number': {
      const number = Number(token.text.replaceAll('_', ''));
      return { value: Number.isFinite(number) ? { kind: 'number', number, at } : unknown(at), next: at + 1 };
    }
    case 'name':
      return named(source, at, depth);
    case 'punctuation':
      return grouped(source, at, depth);
    case 'regex':
    case undefined:
      return { value: unknown(at), next: at + 1 };
  }
}

/** Literals that follow each other, with `+` in both languages or without it in Python, are one text. */
function text(source: Source, at: number): Read {
  let [joined, next] = [source.tokens[at]?.text ?? '', at + 1];
  for (;;) {
    const follower = wordAt(source, next) === '+' ? next + 1 : source.language === 'python' ? next : -1;
    const token = source.tokens[follower];
    if (token?.kind !== 'string') return { value: { kind: 'text', text: joined, at }, next };
    joined += token.text;
    next = follower + 1;
  }
}

function named(source: Source, at: number, depth: number): Read {
  const word = wordAt(source, at);
  const flag = FLAGS.get(word);
  if (flag !== undefined) return { value: { kind: 'flag', flag, at }, next: at + 1 };
  if (NO_VALUE.test(word)) return { value: unknown(at), next: at + 1 };
  if (word === 'new' || word === 'await')
    return depth > MAX_DEPTH ? { value: unknown(at), next: at + 1 } : primary(source, at + 1, depth + 1);
  let [path, next] = [word, at + 1];
  let receiver: CallValue | null = null;
  let value: Value = { kind: 'name', path, receiver, at };
  for (;;) {
    const step = pathStep(source, next);
    if (step === null) return { value, next };
    if (path.length > MAX_PATH) return { value, next };
    next = step.next;
    if (step.kind === 'member') path += `.${step.name}`;
    if (step.kind === 'item') path += '[]';
    if (step.kind !== 'type') value = { kind: 'name', path, receiver, at };
    if (step.kind !== 'call') continue;
    const args = readArguments(source, step.open, depth + 1);
    value = { kind: 'call', path, args, receiver, open: step.open, at };
    receiver = value;
    path += '()';
  }
}

type PathStep =
  | { kind: 'member'; name: string; next: number }
  | { kind: 'call'; open: number; next: number }
  | { kind: 'item' | 'type'; next: number };

/** What follows a name: `.member`, `["member"]`, `[item]`, a call, or a type: `<T>` before a call and `!` in a path. */
function pathStep(source: Source, at: number): PathStep | null {
  const mark = wordAt(source, at);
  if ((mark === '.' || mark === '?.') && isName(source, at + 1))
    return { kind: 'member', name: wordAt(source, at + 1), next: at + 2 };
  const open = mark === '?.' ? at + 1 : at;
  const next = afterGroup(source, open);
  switch (wordAt(source, open)) {
    case '(':
      return { kind: 'call', open, next };
    case '[': {
      const token = source.tokens[open + 1];
      const isLiteral = token?.kind === 'string' && next === open + 3;
      return isLiteral ? { kind: 'member', name: token.text, next } : { kind: 'item', next };
    }
    case '!':
      return /^(?:[.[(]|\?\.)$/.test(wordAt(source, at + 1)) ? { kind: 'type', next: at + 1 } : null;
    case '<': {
      const end = genericEnd(source, open);
      return end < 0 ? null : { kind: 'type', next: end };
    }
    default:
      return null;
  }
}

/** The bracket of a call after type arguments, `f<A, B<C>>(`; -1: no type arguments are here. */
function genericEnd(source: Source, at: number): number {
  if (source.language === 'python') return -1;
  let depth = 0;
  for (let index = at; index < at + MAX_GENERIC; index += 1) {
    const { kind } = source.tokens[index] ?? { kind: 'regex' };
    const mark = wordAt(source, index);
    if (mark === '<') depth += 1;
    else if (mark === '>') depth -= 1;
    else if (kind !== 'name' && kind !== 'string' && !/^(?:[.,|&:;?[\]{}]|=>)$/.test(mark)) return -1;
    if (depth === 0) return wordAt(source, index + 1) === '(' ? index + 1 : -1;
  }
  return -1;
}

function grouped(source: Source, at: number, depth: number): Read {
  const next = afterGroup(source, at);
  if (depth > MAX_DEPTH) return { value: unknown(at), next };
  switch (wordAt(source, at)) {
    case '[':
      return { value: { kind: 'list', items: items(source, at, depth), at }, next };
    case '{':
      return { value: { kind: 'object', members: membersAt(source, at, depth), at }, next };
    case '(': {
      const inner = read(source, at + 1, depth + 1);
      return { value: inner.next === source.partner[at] ? inner.value : unknown(at), next };
    }
    default:
      return { value: unknown(at), next };
  }
}

/** Start of each part between commas inside a bracket. */
function* partsOf(source: Source, open: number): Generator<number> {
  const close = source.partner[open] ?? 0;
  let at = open + 1;
  while (at < close) {
    yield at;
    while (at < close && wordAt(source, at) !== ',') at = afterGroup(source, at);
    at += 1;
  }
}

/** A spread value is an item like any other. */
const afterSpread = (source: Source, at: number): number =>
  /^(?:\.\.\.|\*)$/.test(wordAt(source, at)) ? at + 1 : at;

function items(source: Source, open: number, depth: number): Value[] {
  return [...partsOf(source, open)].map((at) => read(source, afterSpread(source, at), depth + 1).value);
}

function membersAt(source: Source, open: number, depth: number): ReadonlyMap<string, Value> {
  const members = new Map<string, Value>();
  for (const at of partsOf(source, open)) {
    const token = source.tokens[at];
    if (token?.kind !== 'name' && token?.kind !== 'string') continue;
    const mark = wordAt(source, at + 1);
    if (mark === ':') members.set(token.text, read(source, at + 2, depth + 1).value);
    else if (mark === ',' || mark === '}')
      members.set(token.text, { kind: 'name', path: token.text, receiver: null, at });
    else members.set(token.text, unknown(at));
  }
  return members;
}

function readArguments(source: Source, open: number, depth: number): Arguments {
  if (depth > MAX_DEPTH) return NO_ARGUMENTS;
  const positional: Value[] = [];
  const named = new Map<string, Value>();
  for (const at of partsOf(source, open)) {
    if (source.language === 'python' && isName(source, at) && wordAt(source, at + 1) === '=')
      named.set(wordAt(source, at), read(source, at + 2, depth + 1).value);
    else if (wordAt(source, at) !== '**')
      positional.push(read(source, afterSpread(source, at), depth + 1).value);
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
