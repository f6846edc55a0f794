import { keyOffsetAt, nodeAt, readYamlTree, type PathToken } from './yaml-tree.ts';

/** A position in a file; both 1-based. */
export interface Position {
  line: number;
  column: number;
}

/**
 * Returns the position of a manifest path: of its key, or of the nearest parent that exists, because a finding may be about a
 * missing value. `text` is a manifest without syntax errors.
 */
export function positionsIn(text: string): (path: readonly PathToken[]) => Position {
  const tree = readYamlTree(text);
  if (!tree.ok) return () => ({ line: 1, column: 1 });
  return (path) => {
    let length = path.length;
    while (nodeAt(tree.root, path.slice(0, length)) === undefined) length -= 1;
    return tree.place(keyOffsetAt(tree.root, path.slice(0, length)));
  };
}

const TOKEN = /\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g;

/** Parses a manifest path as `formatPath` writes it, for example `spec.tools[0].name`. */
export function parsePath(path: string): PathToken[] {
  return [...path.matchAll(TOKEN)].map(([, index, quoted, key]) => {
    if (index !== undefined) return Number(index);
    return quoted === undefined ? String(key) : String(JSON.parse(`"${quoted}"`));
  });
}
