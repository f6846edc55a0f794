import { isAlias, isMap, isPair, isScalar, isSeq, parseDocument } from 'yaml';
import type { Alias, Document, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { placesIn, type Place } from './line-index.ts';
import type { ManifestProblem } from './manifest.ts';
import { shown } from './wording.ts';
import { syntaxProblems } from './yaml-syntax.ts';

/** Aliases may multiply a small file into a huge value; more values than this are refused. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 64;

export type PathToken = string | number;

/** A value with the place where it stands in the text. */
export interface Located {
  value: unknown;
  /** Where the value begins, as an offset into the text. */
  offset: number;
  /** The text of a scalar as it was written; undefined for the others, and empty for a value nobody wrote. */
  source?: string;
  /** Values inside, aliases expanded; 1 for a scalar. */
  size: number;
  /** Levels below, aliases expanded; 0 for a scalar. */
  height: number;
  members?: Map<string, { keyOffset: number; node: Located }>;
  items?: Located[];
}

export type YamlTree =
  | { ok: true; root: Located; place: Place; problems: ManifestProblem[] }
  | { ok: false; problems: ManifestProblem[] };

/** Reads one YAML 1.2 document with positions. `problems` beside a tree do not keep it from being read further. */
export function readYamlTree(text: string): YamlTree {
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    // The library compares every key with every other one, which a file full of keys makes take minutes.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  const place = placesIn(text);
  const syntax = syntaxProblems(document, text, place);
  if (syntax.length > 0) return { ok: false, problems: syntax };
  const reader = new TreeReader(place);
  const root = reader.read(document);
  if (root !== null && root.size <= MAX_VALUES) return { ok: true, root, place, problems: reader.problems };
  if (root !== null) reader.report(0, '', `has more than ${MAX_VALUES} values once its aliases are expanded`);
  return { ok: false, problems: reader.problems };
}

class TooDeep extends Error {
  readonly offset: number;
  constructor(offset: number) {
    super('nested too deeply');
    this.offset = offset;
  }
}

class TreeReader {
  readonly problems: ManifestProblem[] = [];
  readonly #place: Place;
  /** What each anchor stands for; null while its own content is being read. */
  readonly #anchors = new Map<string, Located | null>();

  constructor(place: Place) {
    this.#place = place;
  }

  report(offset: number, path: string, message: string): void {
    this.problems.push({ path, message, ...this.#place(offset) });
  }

  read(document: Document): Located | null {
    try {
      return this.#node(document.contents, 0, []);
    } catch (error) {
      if (!(error instanceof TooDeep)) throw error;
      this.report(error.offset, '', `is nested deeper than ${MAX_DEPTH} levels`);
      return null;
    }
  }

  #node(node: Node | null, fallbackOffset: number, path: PathToken[]): Located {
    if (node === null) return { value: null, offset: fallbackOffset, source: '', size: 1, height: 0 };
    const offset = node.range?.[0] ?? fallbackOffset;
    if (path.length > MAX_DEPTH) throw new TooDeep(offset);
    if (isAlias(node)) return this.#alias(node, offset, path);
    const anchor = 'anchor' in node ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, null);
    const located = this.#content(node, offset, path);
    if (anchor !== undefined) this.#anchors.set(anchor, located);
    return located;
  }

  #content(node: Node, offset: number, path: PathToken[]): Located {
    if (isMap(node)) return this.#map(node, offset, path);
    if (isSeq(node)) return this.#list(node, offset, path);
    const scalar = node as Scalar;
    return { value: scalar.value, offset, source: scalar.source ?? '', size: 1, height: 0 };
  }

  #alias(alias: Alias, offset: number, path: PathToken[]): Located {
    const target = this.#anchors.get(alias.source);
    if (target !== undefined && target !== null) {
      if (path.length + target.height > MAX_DEPTH) throw new TooDeep(offset);
      return { ...target, offset };
    }
    const why = target === null ? 'stands inside what it refers to' : 'refers to no anchor above it';
    this.report(offset, formatPath(path), `the alias ${shown(`*${alias.source}`)} ${why}`);
    return { value: null, offset, source: `*${alias.source}`, size: 1, height: 0 };
  }

  #list(list: YAMLSeq, offset: number, path: PathToken[]): Located {
    const items = list.items.map((item, index) =>
      this.#node(isPair(item) ? null : (item as Node | null), offset, [...path, index]),
    );
    return { value: items.map((item) => item.value), offset, items, ...extentOf(items) };
  }

  #map(map: YAMLMap, offset: number, path: PathToken[]): Located {
    const members = new Map<string, { keyOffset: number; node: Located }>();
    const value = {};
    for (const pair of map.items as Pair<Node | null, Node | null>[]) {
      const keyOffset = pair.key?.range?.[0] ?? offset;
      const key = this.#key(pair.key, keyOffset, path);
      if (key === null) continue;
      const inner = [...path, key];
      const node = this.#node(pair.value, keyOffset, inner);
      const earlier = members.get(key);
      if (earlier !== undefined) {
        const { line } = this.#place(earlier.keyOffset);
        this.report(keyOffset, formatPath(inner), `the key ${shown(key)} is already on line ${line}`);
        continue;
      }
      members.set(key, { keyOffset, node });
      // Not an assignment: the key may be `__proto__`.
      Object.defineProperty(value, key, { value: node.value, enumerable: true });
    }
    return { value, offset, members, ...extentOf([...members.values()].map((member) => member.node)) };
  }

  #key(key: Node | null, offset: number, path: PathToken[]): string | null {
    if (key !== null && isScalar(key)) {
      const { anchor } = key;
      const text = typeof key.value === 'string' ? key.value : (key.source ?? '');
      if (anchor !== undefined)
        this.#anchors.set(anchor, { value: text, offset, source: text, size: 1, height: 0 });
      return text;
    }
    this.report(offset, formatPath(path), 'a key must be plain text');
    return null;
  }
}

function extentOf(nodes: Located[]): { size: number; height: number } {
  let [size, height] = [1, 0];
  for (const node of nodes) [size, height] = [size + node.size, Math.max(height, node.height + 1)];
  return { size, height };
}

/** The node at a path, or undefined where nothing stands. */
export function nodeAt(root: Located, path: readonly PathToken[]): Located | undefined {
  let node: Located | undefined = root;
  for (const token of path)
    node = typeof token === 'number' ? node?.items?.[token] : node?.members?.get(token)?.node;
  return node;
}

/** Where the key of a path stands; for an item of a list, and for the document, where its value begins. */
export function keyOffsetAt(root: Located, path: readonly PathToken[]): number {
  const last = path.at(-1);
  const parent = nodeAt(root, path.slice(0, -1));
  if (typeof last === 'string') return parent?.members?.get(last)?.keyOffset ?? parent?.offset ?? 0;
  return nodeAt(root, path)?.offset ?? 0;
}

/** Where the value of a path begins; where nobody wrote one, its key. */
export function valueOffsetAt(root: Located, path: readonly PathToken[]): number {
  const node = nodeAt(root, path);
  const isUnwritten = node?.source === '' && node.value === null;
  return node === undefined || isUnwritten ? keyOffsetAt(root, path) : node.offset;
}

const PLAIN_KEY = /^[\w-]+$/;

/** `spec.tools[0].name`; keys that are no plain words stand in brackets and quotes. */
export function formatPath(path: readonly PathToken[]): string {
  let text = '';
  for (const token of path) {
    if (typeof token === 'number') text += `[${token}]`;
    else if (PLAIN_KEY.test(token)) text += text === '' ? token : `.${token}`;
    else text += `[${shown(token)}]`;
  }
  return text;
}
