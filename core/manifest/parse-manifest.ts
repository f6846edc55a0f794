import { constraintProblems } from './constraint-problems.ts';
import { referenceProblems, uniquenessProblems } from './content-problems.ts';
import type { Manifest, ManifestProblem, ParsedManifest } from './manifest.ts';
import { MANIFEST_API_VERSION, MANIFEST_KIND } from './schema.ts';
import { nearest } from './nearest.ts';
import { secretWarnings } from './manifest-warnings.ts';
import { parsePath } from './position.ts';
import { schemaProblems } from './schema-problems.ts';
import { RELATED_FORMATS } from './related-formats.ts';
import { quoted } from './wording.ts';
import { keyOffsetAt, nodeAt, readYamlTree, valueOffsetAt, type Located, type Place } from './yaml-tree.ts';

/** Maximum size in bytes of UTF-8, the size limit of a ConfigMap. */
export const MAX_MANIFEST_BYTES = 1024 * 1024;

/** Limits the output for a file with very many mistakes. */
const MAX_PROBLEMS = 500;

/**
 * Parses and validates a manifest. Returns the manifest or all problems, in the order of the file. Pure; never throws, and
 * its run time is bounded for any text.
 */
export function parseManifest(text: string): ParsedManifest {
  if (text.length > MAX_MANIFEST_BYTES || new TextEncoder().encode(text).length > MAX_MANIFEST_BYTES)
    return rejected('exceeds the maximum manifest size of 1 MiB');
  const tree = readYamlTree(text.replace(/^\ufeff/, ''));
  if (!tree.ok) return { ok: false, problems: inOrder(tree.problems) };
  const { root, place } = tree;
  if (root.value === null && root.source === '')
    return rejected('file is empty; apiVersion, kind, metadata and spec are required');
  if (root.members === undefined)
    return rejected(`must be an object with apiVersion, kind, metadata and spec; got ${kindOf(root)}`);
  const foreign = foreignProblem(root, place);
  if (foreign !== null) return { ok: false, problems: [foreign], ...secretsOf(root, place) };
  const problems = onePerPlace([
    ...tree.problems,
    ...referenceProblems(root, place),
    ...schemaProblems(root, place),
    ...uniquenessProblems(root, place),
    ...constraintProblems(root, place),
  ]);
  if (problems.length > 0) return { ok: false, problems: inOrder(problems), ...secretsOf(root, place) };
  return { ok: true, manifest: root.value as Manifest };
}

function rejected(message: string): ParsedManifest {
  return { ok: false, problems: [{ path: '', message, line: 1, column: 1 }] };
}

function kindOf(root: Located): string {
  return root.items === undefined ? 'plain text' : 'a list';
}

/** A secret in the file must be revoked, whatever else is wrong. */
function secretsOf(root: Located, place: Place): { warnings?: ManifestProblem[] } {
  const warnings = secretWarnings(root.value).map((warning) => ({
    ...warning,
    ...place(keyOffsetAt(root, parsePath(warning.path))),
  }));
  return warnings.length === 0 ? {} : { warnings };
}

/** Two rules can reject the same value. Only the first problem is kept, because the first rule is the more specific one. */
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

/** A document in another format gets one problem instead of one per key. */
function foreignProblem(root: Located, place: Place): ManifestProblem | null {
  const [apiVersion, kind] = ['apiVersion', 'kind'].map((key) => nodeAt(root, [key])?.value);
  if (typeof apiVersion !== 'string') return null;
  const at = place(valueOffsetAt(root, ['apiVersion']));
  const related = RELATED_FORMATS.get(apiVersion);
  if (related !== undefined)
    return {
      path: 'apiVersion',
      message: `${quoted(apiVersion)} is ${related}; convert it with "platform migrate"`,
      ...at,
    };
  const isNear = (word: unknown, wanted: string): boolean =>
    typeof word !== 'string' || nearest(word, [wanted]) !== undefined;
  if (isNear(apiVersion, MANIFEST_API_VERSION) || isNear(kind, MANIFEST_KIND)) return null;
  return {
    path: 'apiVersion',
    message: `not an agent manifest; expected apiVersion ${MANIFEST_API_VERSION} and kind ${MANIFEST_KIND}, got ${quoted(`${apiVersion} ${String(kind)}`)}`,
    ...place(keyOffsetAt(root, ['apiVersion'])),
  };
}
