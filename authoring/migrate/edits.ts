import { isMap, isScalar, type Document, type Node, type Pair, type YAMLMap } from 'yaml';
import { formatPath, type PathToken } from '../../core/manifest/yaml-tree.ts';

/** Replaces the characters from `start` to `end` of a text. */
interface Edit {
  start: number;
  end: number;
  text: string;
}

/** One change of a manifest, with the path before the change. */
export interface MigrationChange {
  path: string;
  /** For example `renamed to address`. */
  change: string;
}

/**
 * Collects changes of a YAML document as edits of its text, so that everything else keeps its characters, with comments, order
 * and line ends.
 */
export class TextEdits {
  readonly changes: MigrationChange[] = [];
  readonly #edits: Edit[] = [];
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Sets a scalar of the document to a plain value. */
  setValue(document: Document, key: string, value: string): void {
    const node: unknown = document.get(key, true);
    if (!isScalar(node) || node.value === value) return;
    this.#replace(node, value);
    this.#report([key], `changed from ${String(node.value)} to ${value}`);
  }

  /** `at`: path of the key. Does nothing if the key is absent, or `to` is present. */
  renameKey(map: YAMLMap, at: readonly PathToken[], to: string): void {
    const pair = pairOf(map, at);
    if (pair === undefined || map.has(to)) return;
    this.#replace(pair.key, to);
    this.#report(at, `renamed to ${to}`);
  }

  /** Renames a key so that the schema accepts and ignores it. Returns whether the key exists. */
  setAside(map: YAMLMap, at: readonly PathToken[], reason: string): boolean {
    const pair = pairOf(map, at);
    if (pair === undefined) return false;
    let name = `x-${String(at.at(-1))}`;
    for (let number = 2; map.has(name); number += 1) name = `x-${String(at.at(-1))}-${number}`;
    this.#replace(pair.key, PLAIN.test(name) ? name : JSON.stringify(name));
    this.#report(at, `kept as ${name}: ${reason}`);
    return true;
  }

  /** Adds a member at the start of a map that has members. `at`: its path; `value`: YAML on one line. */
  addFirst(map: YAMLMap, at: readonly PathToken[], value: string): void {
    const [start] = rangeOf(map.items[0]?.key);
    const column = start - (this.#text.lastIndexOf('\n', start - 1) + 1);
    const lineEnd = this.#text.includes('\r\n') ? '\r\n' : '\n';
    const separator = map.flow ? ', ' : `${lineEnd}${' '.repeat(column)}`;
    this.#edits.push({ start, end: start, text: `${String(at.at(-1))}: ${value}${separator}` });
    this.#report(at, `added: ${value}`);
  }

  /** The text with all edits. */
  applied(): string {
    return this.#edits
      .toSorted((a, b) => b.start - a.start || b.end - a.end)
      .reduce(
        (text, { start, end, text: inserted }) => text.slice(0, start) + inserted + text.slice(end),
        this.#text,
      );
  }

  /** The offset in the source of an offset in the edited text; within an inserted text, where it is inserted. */
  sourceOffset(offset: number): number {
    let shift = 0;
    for (const { start, end, text } of this.#edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
      if (offset < start + shift) break;
      if (offset < start + shift + text.length) return start;
      shift += text.length - (end - start);
    }
    return offset - shift;
  }

  #replace(node: unknown, text: string): void {
    const [start, end] = rangeOf(node);
    this.#edits.push({ start, end, text });
  }

  #report(path: readonly PathToken[], change: string): void {
    this.changes.push({ path: formatPath(path), change });
  }
}

/** A key that needs no quotes, as far as a manifest has such keys. */
const PLAIN = /^[\w-]+$/;

function pairOf(map: YAMLMap, at: readonly PathToken[]): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && key.value === at.at(-1));
}

function rangeOf(node: unknown): [start: number, end: number] {
  const [start, end] = (node as Node).range ?? [0, 0];
  return [start, end];
}

/** The map at a path; undefined if there is none. */
export function mapAt(document: Document, path: readonly PathToken[]): YAMLMap | undefined {
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path);
  return isMap(node) && node.items.length > 0 ? node : undefined;
}
