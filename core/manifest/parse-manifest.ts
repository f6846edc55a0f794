import { referenceProblems, uniquenessProblems } from './content-problems.ts';
import type { Manifest, ManifestProblem, ParsedManifest } from './manifest.ts';
import { MANIFEST_API_VERSION, MANIFEST_KIND } from './schema.ts';
import { nearest } from './nearest.ts';
import { schemaProblems } from './schema-problems.ts';
import { shown } from './wording.ts';
import { keyOffsetAt, nodeAt, readYamlTree, valueOffsetAt } from './yaml-tree.ts';
import type { Located } from './yaml-tree.ts';
import type { Place } from './line-index.ts';

/** Bytes of UTF-8; the most that a ConfigMap holds. */
export const MAX_MANIFEST_BYTES = 1024 * 1024;

/** A file full of mistakes is not made better by a list of a hundred thousand. */
const MAX_PROBLEMS = 500;

/**
 * The manifest that a text declares, or every problem that keeps it from being one, in the order of the file.
 * Pure and total: any text gives a result, in bounded time.
 */
export function parseManifest(text: string): ParsedManifest {
  if (text.length > MAX_MANIFEST_BYTES || new TextEncoder().encode(text).length > MAX_MANIFEST_BYTES)
    return refused('is larger than 1 MiB, the most that a manifest can be');
  const tree = readYamlTree(text.replace(/^\ufeff/, ''));
  if (!tree.ok) return { ok: false, problems: inOrder(tree.problems) };
  const { root, place } = tree;
  if (root.value === null && root.source === '')
    return refused('is empty: a manifest has apiVersion, kind, metadata and spec');
  if (root.members === undefined)
    return refused(`must be an object with apiVersion, kind, metadata and spec, is ${kindOf(root)}`);
  const foreign = foreignProblem(root, place);
  if (foreign !== null) return { ok: false, problems: [foreign] };
  const problems = onePerPlace([
    ...tree.problems,
    ...referenceProblems(root, place),
    ...schemaProblems(root, place),
    ...uniquenessProblems(root, place),
  ]);
  if (problems.length > 0) return { ok: false, problems: inOrder(problems) };
  return { ok: true, manifest: root.value as Manifest };
}

function refused(message: string): ParsedManifest {
  return { ok: false, problems: [{ path: '', message, line: 1, column: 1 }] };
}

function kindOf(root: Located): string {
  return root.items === undefined ? 'plain text' : 'a list';
}

/** A value that two rules refuse has one mistake: the first rule, which knows more, speaks. */
function onePerPlace(problems: readonly ManifestProblem[]): ManifestProblem[] {
  const seen = new Set<string>();
  return problems.filter(({ path, line, column }) => {
    const place = `${line}:${column}:${path}`;
    if (seen.has(place)) return false;
    seen.add(place);
    return true;
  });
}

function inOrder(problems: readonly ManifestProblem[]): ManifestProblem[] {
  const sorted = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  const rest = sorted.length - MAX_PROBLEMS;
  const last = sorted[MAX_PROBLEMS];
  if (rest <= 0 || last === undefined) return sorted;
  return [...sorted.slice(0, MAX_PROBLEMS), { ...last, path: '', message: `and ${rest} more problems` }];
}

/** Formats that are near enough to be meant. */
const RELATED = new Map([
  ['platform.io/v1alpha1', 'an older version of the manifest'],
  ['agentspec.io/v1', 'an agentspec manifest'],
  ['agentspec/v1alpha1', 'an agentspec manifest'],
]);

/** A document of another format has one problem, not one for each of its keys. */
function foreignProblem(root: Located, place: Place): ManifestProblem | null {
  const [apiVersion, kind] = ['apiVersion', 'kind'].map((key) => nodeAt(root, [key])?.value);
  if (typeof apiVersion !== 'string') return null;
  const at = place(valueOffsetAt(root, ['apiVersion']));
  const older = RELATED.get(apiVersion);
  if (older !== undefined)
    return {
      path: 'apiVersion',
      message: `${shown(apiVersion)} is ${older}, which this version does not read`,
      ...at,
      suggestion: MANIFEST_API_VERSION,
    };
  const isNear = (word: unknown, wanted: string): boolean =>
    typeof word !== 'string' || nearest(word, [wanted]) !== undefined;
  if (isNear(apiVersion, MANIFEST_API_VERSION) || isNear(kind, MANIFEST_KIND)) return null;
  return {
    path: 'apiVersion',
    message: `is no agent manifest but ${shown(`${apiVersion} ${String(kind)}`)}; a manifest begins with apiVersion ${MANIFEST_API_VERSION} and kind ${MANIFEST_KIND}`,
    ...place(keyOffsetAt(root, ['apiVersion'])),
  };
}
