import type { ManifestProblem } from './manifest.ts';
import { referenceMistake } from './reference-problems.ts';
import { quoted } from './wording.ts';
import { formatPath, nodeAt, problemAt, valueOffsetAt } from './yaml-tree.ts';
import type { Located, PathToken, Place } from './yaml-tree.ts';

/** Lists whose entries need a unique name, because reports, checks and cards identify the entries by name. */
const UNIQUE: readonly { list: string[]; nameOf: readonly string[] }[] = [
  { list: ['spec', 'tools'], nameOf: ['name'] },
  { list: ['spec', 'mcp', 'servers'], nameOf: ['name'] },
  { list: ['spec', 'requires', 'services'], nameOf: ['name', 'type'] },
  { list: ['spec', 'evaluation', 'datasets'], nameOf: ['name'] },
  { list: ['spec', 'prompts', 'variables'], nameOf: ['name'] },
  { list: ['spec', 'subagents'], nameOf: ['name'] },
  { list: ['spec', 'skills'], nameOf: ['id'] },
];

export function uniquenessProblems(root: Located, place: Place): ManifestProblem[] {
  return UNIQUE.flatMap(({ list, nameOf }) => {
    const first = new Map<string, PathToken[]>();
    const problems: ManifestProblem[] = [];
    for (const index of nodeAt(root, list)?.items?.keys() ?? []) {
      const named = nameOf
        .map((key) => [...list, index, key])
        .find((path) => typeof nodeAt(root, path)?.value === 'string');
      const name = named === undefined ? undefined : nodeAt(root, named)?.value;
      if (named === undefined || typeof name !== 'string' || name === '') continue;
      const earlier = first.get(name);
      if (earlier === undefined) first.set(name, named);
      else problems.push(duplicate(name, named, earlier, { root, place }));
    }
    return problems;
  });
}

function duplicate(
  name: string,
  path: PathToken[],
  earlier: PathToken[],
  { root, place }: { root: Located; place: Place },
): ManifestProblem {
  const { line } = place(valueOffsetAt(root, earlier));
  const message = `the name ${quoted(name)} is already used by ${formatPath(earlier.slice(0, -1))} on line ${line}`;
  return problemAt(path, message, place(valueOffsetAt(root, path)));
}

/** Malformed references anywhere except under `x-` keys. */
export function referenceProblems(root: Located, place: Place): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const walk = (node: Located, path: PathToken[], offset: number): void => {
    if (typeof node.value === 'string') {
      const mistake = referenceMistake(node.value);
      if (mistake !== null) problems.push({ path: formatPath(path), ...place(offset), ...mistake });
    }
    for (const [index, item] of node.items?.entries() ?? []) walk(item, [...path, index], item.offset);
    for (const [key, member] of node.members ?? [])
      if (!key.startsWith('x-')) walk(member.node, [...path, key], member.node.offset);
  };
  walk(root, [], root.offset);
  return problems;
}
