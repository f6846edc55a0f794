import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Alias, Document, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import type { ManifestProblem } from './manifest.ts';
import { present } from '../untrusted/present.ts';
import { quoted } from './wording.ts';
import { syntaxProblems } from './yaml-syntax.ts';

/** Limits after alias expansion. Aliases can expand a small file into a huge value. */
const MAX_VALUES = 100_000;
/** UTF-16 units of keys and scalars. A file without aliases has at most as many. */
const MAX_LENGTH = 1024 * 1024;
const MAX_DEPTH = 64;

export type PathToken = string | number;

/** Line and column (1-based) of an offset into the text. Columns count UTF-16 units, as editors do. */
export type Place = (offset: number) => Pick<ManifestProblem, 'line' | 'column'>;

/** A value with its position in the text. */
export interface Located {
  value: unknown;
  /** Offset of the start of the value in the text. */
  offset: number;
  /** Source text of a scalar; empty for a missing value; undefined for lists and objects. */
  source?: string;
  /** Number of values including nested ones, with aliases expanded; 1 for a scalar. */
  size: number;
  /** Length of the texts of all keys and scalars, with aliases expanded. */
  length: number;
  /** Number of nested levels, with aliases expanded; 0 for a scalar. */
  height: number;
  members?: Map<string, { keyOffset: number; node: Located }>;
  items?: Located[];
}

export type YamlTree =
  | { ok: true; root: Located; place: Place; problems: ManifestProblem[] }
  | { ok: false; problems: ManifestProblem[] };

/** Reads one YAML 1.2 document with positions. If `ok` is true, the tree is usable in spite of its `problems`. */
export function readYamlTree(text: string): YamlTree {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    version: '1.2',
    schema: 'core',
    // The check of the library is quadratic: a file with very many keys would take minutes. #map detects duplicates instead.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  const place: Place = (offset) => {
    // An unclosed quote has its end after the end of the text.
    const { line, col } = lineCounter.linePos(Math.min(offset, text.length));
    return { line, column: col };
  };
  const syntax = syntaxProblems(document, text, place);
  if (syntax.length > 0) return { ok: false, problems: syntax };
  const reader = new TreeReader(place);
  const root = reader.read(document);
  const isSmall = root !== null && root.size <= MAX_VALUES && root.length <= MAX_LENGTH;
  if (isSmall) return { ok: true, root, place, problems: reader.problems };
  if (root !== null) {
    const limit = root.size > MAX_VALUES ? `${MAX_VALUES} values` : `${MAX_LENGTH} characters`;
    reader.report(0, '', `the document has more than ${limit} after alias expansion`);
  }
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
  /** Value of each anchor; null while the content of the anchor is being read. */
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
      this.report(error.offset, '', `the document is nested deeper than ${MAX_DEPTH} levels`);
      return null;
    }
  }

  #node(node: Node | null, fallbackOffset: number, path: PathToken[]): Located {
    if (node === null) return scalarAt(fallbackOffset, null, '');
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
    return scalarAt(offset, scalar.value, scalar.source ?? '');
  }

  #alias(alias: Alias, offset: number, path: PathToken[]): Located {
    const target = this.#anchors.get(alias.source);
    if (target !== undefined && target !== null) {
      if (path.length + target.height > MAX_DEPTH) throw new TooDeep(offset);
      return { ...target, offset };
    }
    const why = target === null ? 'refers to a value that contains it' : 'has no anchor above it';
    this.report(offset, formatPath(path), `the alias ${quoted(`*${alias.source}`)} ${why}`);
    return scalarAt(offset, null, `*${alias.source}`);
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
        this.report(keyOffset, formatPath(inner), `duplicate key ${quoted(key)}; first used on line ${line}`);
        continue;
      }
      members.set(key, { keyOffset, node });
      // Not an assignment: the key may be `__proto__`.
      Object.defineProperty(value, key, { value: node.value, enumerable: true });
    }
    const extent = extentOf([...members.values()].map((member) => member.node));
    for (const key of members.keys()) extent.length += key.length;
    return { value, offset, members, ...extent };
  }

  #key(key: Node | null, offset: number, path: PathToken[]): string | null {
    if (key !== null && isScalar(key)) {
      const { anchor } = key;
      const text = typeof key.value === 'string' ? key.value : (key.source ?? '');
      if (anchor !== undefined) this.#anchors.set(anchor, scalarAt(offset, text, text));
      return text;
    }
    this.report(offset, formatPath(path), 'a key must be a string');
    return null;
  }
}

const scalarAt = (offset: number, value: unknown, source: string): Located => ({
  ...{ value, offset, source },
  ...{ size: 1, length: source.length, height: 0 },
});

function extentOf(nodes: Located[]): Pick<Located, 'size' | 'length' | 'height'> {
  const extent = { size: 1, length: 0, height: 0 };
  for (const { size, length, height } of nodes) {
    extent.size += size;
    extent.length += length;
    extent.height = Math.max(extent.height, height + 1);
  }
  return extent;
}

/** The node at a path; undefined if there is none. */
export function nodeAt(root: Located, path: readonly PathToken[]): Located | undefined {
  let node: Located | undefined = root;
  for (const token of path)
    node = typeof token === 'number' ? node?.items?.[token] : node?.members?.get(token)?.node;
  return node;
}

/** Offset of the key of a path. For a list item and for the document it is the offset of the value. */
export function keyOffsetAt(root: Located, path: readonly PathToken[]): number {
  const last = path.at(-1);
  const parent = nodeAt(root, path.slice(0, -1));
  if (typeof last === 'string') return parent?.members?.get(last)?.keyOffset ?? parent?.offset ?? 0;
  return nodeAt(root, path)?.offset ?? 0;
}

/** Offset of the value of a path, or of the key if the value is missing. */
export function valueOffsetAt(root: Located, path: readonly PathToken[]): number {
  const node = nodeAt(root, path);
  const isMissing = node?.source === '' && node.value === null;
  return node === undefined || isMissing ? keyOffsetAt(root, path) : node.offset;
}

/** The problem of a path, at this place. */
export const problemAt = (
  path: readonly PathToken[],
  message: string,
  place: ReturnType<Place>,
  suggestion?: string,
): ManifestProblem => ({ path: formatPath(path), message, ...place, ...present({ suggestion }) });

const PLAIN_KEY = /^[\w-]+$/;

/** For example `spec.tools[0].name`. Keys with other characters than letters, digits, "_" and "-" are quoted in brackets. */
export function formatPath(path: readonly PathToken[]): string {
  let text = '';
  for (const token of path) {
    if (typeof token === 'number') text += `[${token}]`;
    else if (PLAIN_KEY.test(token)) text += text === '' ? token : `.${token}`;
    else text += `[${quoted(token)}]`;
  }
  return text;
}
