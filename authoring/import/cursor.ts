import type { ManifestProblem } from '../../core/manifest/manifest.ts';
import {
  formatPath,
  nodeAt,
  type Located,
  type PathToken,
  type Place,
} from '../../core/manifest/yaml-tree.ts';

/** What the conversion of one document found. */
interface Reading {
  place: Place;
  problems: ManifestProblem[];
  /** Keys (`keyOf`) of the values that were used. */
  used: Set<string>;
}

/** Characters that can hide or move text. A line break is allowed, because prompts have several lines. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/u;
/** Text of a foreign document must not become a reference to a variable, a file or a secret. */
const REFERENCE_LIKE = /^\$[A-Za-z]+:/;

const keyOf = (path: readonly PathToken[]): string => JSON.stringify(path);

/**
 * A place in a document that is converted. Each read is recorded, so that the values without a place in the manifest can be
 * listed. A value of the wrong type is a problem, and is absent for the reader.
 */
export class Cursor {
  readonly #node: Located | undefined;
  readonly #path: readonly PathToken[];
  readonly #reading: Reading;

  constructor(node: Located | undefined, path: readonly PathToken[], reading: Reading) {
    this.#node = node;
    this.#path = path;
    this.#reading = reading;
  }

  /** The root of a document. */
  static of(root: Located, place: Place): Cursor {
    return new Cursor(root, [], { place, problems: [], used: new Set() });
  }

  get problems(): readonly ManifestProblem[] {
    return this.#reading.problems;
  }

  get isPresent(): boolean {
    return isPresent(this.#node);
  }

  /** The value as it is, which does not count as used. */
  peek(...keys: readonly string[]): unknown {
    return this.#node === undefined ? undefined : nodeAt(this.#node, keys)?.value;
  }

  /** The text as it is, which does not count as used; empty for any other value. */
  peekText(...keys: readonly string[]): string {
    const value = this.peek(...keys);
    return typeof value === 'string' ? value : '';
  }

  at(...keys: readonly string[]): Cursor {
    return keys.reduce<Cursor>((cursor, key) => cursor.#member(key), this);
  }

  #member(key: string): Cursor {
    if (isPresent(this.#node) && this.#node.members === undefined) this.#report('must be an object');
    return new Cursor(this.#node?.members?.get(key)?.node, [...this.#path, key], this.#reading);
  }

  /** The entries of a list; none if it is absent. */
  items(): Cursor[] {
    if (!isPresent(this.#node)) return [];
    if (this.#node.items === undefined) this.#report('must be a list');
    return (this.#node.items ?? []).map(
      (item, index) => new Cursor(item, [...this.#path, index], this.#reading),
    );
  }

  /** The members of an object; none if it is absent. */
  members(): Cursor[] {
    if (!isPresent(this.#node)) return [];
    if (this.#node.members === undefined) this.#report('must be an object');
    return [...(this.#node.members?.keys() ?? [])].map((key) => this.#member(key));
  }

  /** A text that is not empty. A text that looks like a reference or does not match `format` counts as absent. */
  text(format?: RegExp): string | undefined {
    const text = this.#typed((value) => typeof value === 'string', 'a string')?.replaceAll('\r\n', '\n');
    if (text === undefined) return undefined;
    if (UNPRINTABLE.test(text.replaceAll(/[\n\t]/g, ''))) {
      this.#report('contains a control character');
      return undefined;
    }
    if (text.trim() === '' || REFERENCE_LIKE.test(text) || format?.test(text) === false) return undefined;
    this.use();
    return text;
  }

  /** A number, or its text. A number outside of the range counts as absent. */
  number(range: { min: number; max: number; isInteger?: true }): number | undefined {
    const value = this.#typed((each) => typeof each === 'number' || typeof each === 'string', 'a number');
    if (value === undefined) return undefined;
    const number = String(value).trim() === '' ? Number.NaN : Number(value);
    if (!(number >= range.min && number <= range.max)) return undefined;
    if (range.isInteger === true && !Number.isInteger(number)) return undefined;
    this.use();
    return number;
  }

  flag(): boolean | undefined {
    const value = this.#typed((each) => typeof each === 'boolean', 'true or false');
    if (value !== undefined) this.use();
    return value;
  }

  /** The value, if it is of the type; undefined: it is absent, or of another type, which is a problem. */
  #typed<T>(isOfType: (value: unknown) => value is T, what: string): T | undefined {
    if (!isPresent(this.#node)) return undefined;
    if (isOfType(this.#node.value)) return this.#node.value;
    this.#report(`must be ${what}`);
    return undefined;
  }

  /** The value and all values in it count as used: it selects something, or it describes the document and not the agent. */
  use(): void {
    this.#reading.used.add(keyOf(this.#path));
  }

  #report(message: string): void {
    const path = formatPath(this.#path);
    if (!this.#reading.problems.some((problem) => problem.path === path))
      this.#reading.problems.push({ path, message, ...this.#reading.place(this.#node?.offset ?? 0) });
  }

  /**
   * Paths of the values that were not used, with `[]` for every entry of a list and the number of such values. A parent of
   * which nothing was used is listed alone. The document itself is the empty path.
   */
  unused(): string[] {
    if (this.#node === undefined) return [];
    const found = unusedIn(this.#node, this.#path, this.#reading.used);
    const paths = found === 'all' ? [this.#path] : found === 'nothing' ? [] : found;
    const groups = Map.groupBy(paths, (path) => formatPath(path).replaceAll(/\[\d+\]/g, '[]'));
    return [...groups].map(([pattern, { length }]) => (length === 1 ? pattern : `${pattern} (${length})`));
  }
}

function isPresent(node: Located | undefined): node is Located {
  return node !== undefined && node.value !== null;
}

/** `all`: nothing in it was used; `nothing`: it is null or empty. */
type Unused = 'all' | 'nothing' | (readonly PathToken[])[];

function unusedIn(node: Located, path: readonly PathToken[], used: ReadonlySet<string>): Unused {
  if (used.has(keyOf(path))) return [];
  const children: [PathToken, Located][] = [
    ...[...(node.members ?? [])].map(([key, member]): [PathToken, Located] => [key, member.node]),
    ...(node.items ?? []).entries(),
  ];
  if (children.length === 0) return isPresent(node) && node.source !== undefined ? 'all' : 'nothing';
  const found = children.map(([token, child]) => {
    const inner = [...path, token];
    return { inner, unused: unusedIn(child, inner, used) };
  });
  if (found.every(({ unused }) => unused === 'all' || unused === 'nothing')) return 'all';
  return found.flatMap(({ inner, unused }) =>
    unused === 'all' ? [inner] : unused === 'nothing' ? [] : unused,
  );
}
