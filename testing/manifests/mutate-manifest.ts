import { parse, stringify } from 'yaml';

/** Random numbers in [0, 1), for example of `diceOf`. */
type Dice = () => number;

const below = (dice: Dice, count: number): number => Math.floor(dice() * count);
const pick = <T>(dice: Dice, values: readonly T[]): T => values[below(dice, values.length)]!;

/** Parts of YAML, control characters, names of Object.prototype and halves of references. */
const TOKENS: readonly string[] = [
  ...['&a ', '*a', '<<: *a', '? ', '- ', ': ', '{', '}', '[', ']', '"', "'", '|', '>', '#', '%', '@', '`'],
  ...[
    '!!binary ',
    '!x ',
    '\n---\n',
    '\n...\n',
    '\t',
    '\r',
    '\0',
    '\u001b',
    '\u0085',
    '\ufeff',
    '\u2028',
    '\ud800',
    '💥',
  ],
  ...[
    '$env:',
    '$foo:x',
    '__proto__: 1',
    'constructor: x',
    '1e999',
    '0x',
    '.inf',
    '.nan',
    '~',
    'null',
    'yes',
    ',',
  ],
];

function changeLines(text: string, change: (lines: string[]) => void): string {
  const lines = text.split('\n');
  change(lines);
  return lines.join('\n');
}

/** Changes of the text of a manifest. */
const TEXT_CHANGES: readonly ((text: string, dice: Dice) => string)[] = [
  (text, dice) => changeLines(text, (lines) => lines.splice(below(dice, lines.length), 1 + below(dice, 3))),
  (text, dice) =>
    changeLines(text, (lines) => {
      const at = below(dice, lines.length);
      lines.splice(at, 0, ...Array.from({ length: 1 + below(dice, 20) }, () => lines[at] ?? ''));
    }),
  (text, dice) =>
    changeLines(text, (lines) => {
      const [a, b] = [below(dice, lines.length), below(dice, lines.length)];
      [lines[a], lines[b]] = [lines[b] ?? '', lines[a] ?? ''];
    }),
  (text, dice) =>
    changeLines(text, (lines) => {
      const at = below(dice, lines.length);
      const indentation = pick(dice, ['', ' ', '   ', '\t', ' '.repeat(60)]);
      lines[at] = indentation + (lines[at] ?? '').trimStart();
    }),
  (text, dice) => {
    const at = below(dice, text.length);
    return text.slice(0, at) + pick(dice, TOKENS) + text.slice(at);
  },
  (text, dice) => {
    const at = below(dice, text.length);
    return text.slice(0, at) + text.slice(at + 1 + below(dice, 10));
  },
  (text, dice) => text.slice(0, below(dice, text.length)),
  (text, dice) => {
    const at = below(dice, text.length);
    return text.slice(0, at) + String.fromCharCode(below(dice, 0x1_00_00)) + text.slice(at + 1);
  },
  (text, dice) => {
    const [from, to] = [below(dice, text.length), below(dice, text.length)];
    return text.slice(0, to) + text.slice(from, from + 40) + text.slice(to);
  },
  (text) => text.replaceAll('\n', '\r\n'),
];

function nested(depth: number): unknown {
  return depth === 0 ? 'deep' : { a: nested(depth - 1) };
}

const VALUES: readonly unknown[] = [
  ...[null, '', ' ', 0, -1, 1.5, 1e308, Number.NaN, Number.POSITIVE_INFINITY, true, [], {}, [[[]]]],
  ...[
    '$env:',
    '$env:A B',
    '$file:../../x',
    '$secret:',
    '$func:x',
    '$x:y',
    'http://',
    'constructor',
    '2026-13-45',
  ],
  ...[
    'a\0b',
    '\u2028',
    '💥',
    '\ud800',
    'x'.repeat(5_000),
    Array.from({ length: 50 }, () => 0),
    nested(40),
    nested(80),
  ],
];

const KEYS: readonly string[] = [
  ...['__proto__', 'constructor', 'toString', '', ' ', 'x-a', 'a.b', 'a[0]', '"', '\n', '💥', 'spec', 'NAME'],
  'k'.repeat(300),
];

type Tree = Record<string, unknown>;

function setOwn(tree: Tree, key: string, value: unknown): void {
  // Not an assignment: the key may be `__proto__`.
  Object.defineProperty(tree, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Changes of one member or entry of the parsed manifest. */
const TREE_CHANGES: readonly ((parent: Tree, key: string, dice: Dice) => void)[] = [
  (parent, key, dice) => setOwn(parent, key, pick(dice, VALUES)),
  (parent, key) => delete parent[key],
  (parent, key, dice) => setOwn(parent, pick(dice, KEYS), parent[key]),
  (parent, key) => setOwn(parent, key, [parent[key], parent[key]]),
  (parent, key) => setOwn(parent, key, { [key]: parent[key] }),
  (parent, key, dice) => setOwn(parent, key, parent[pick(dice, Object.keys(parent))]),
  (parent, key) => setOwn(parent, key, JSON.stringify(parent[key])),
];

/** Walks down a tree until the dice end the walk. */
function changeTree(tree: unknown, dice: Dice): void {
  if (typeof tree !== 'object' || tree === null || Object.keys(tree).length === 0) return;
  const parent = tree as Tree;
  const key = pick(dice, Object.keys(parent));
  const child = parent[key];
  const isLeaf = typeof child !== 'object' || child === null || Object.keys(child).length === 0;
  if (isLeaf || dice() < 0.2) pick(dice, TREE_CHANGES)(parent, key, dice);
  else changeTree(child, dice);
}

/** One to three random changes of a valid manifest: of its text, or of its values, which are written as YAML or as JSON. */
export function mutatedManifest(text: string, dice: Dice): string {
  const changes = 1 + below(dice, 3);
  if (dice() < 0.5) {
    let changed = text;
    for (let count = 0; count < changes; count += 1) changed = pick(dice, TEXT_CHANGES)(changed, dice);
    return changed;
  }
  const tree: unknown = parse(text);
  for (let count = 0; count < changes; count += 1) changeTree(tree, dice);
  return dice() < 0.5
    ? stringify(tree, { aliasDuplicateObjects: dice() < 0.5 })
    : JSON.stringify(tree, null, 1);
}
