import { parseDocument, type Document } from 'yaml';
import { AS_WRITTEN } from '../../core/injection/edit-yaml.ts';
import type { ManifestProblem } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { parsePath, type Position } from '../../core/manifest/position.ts';
import { MANIFEST_API_VERSION, MANIFEST_KIND } from '../../core/manifest/schema.ts';
import { mapAt, TextEdits, type MigrationChange } from './edits.ts';
import { STEPS } from './steps.ts';

export type Migration =
  | { outcome: 'current' }
  /** `text`: a valid manifest in the current format; only the changed characters differ from the source. */
  | { outcome: 'migrated'; text: string; changes: MigrationChange[] }
  /** The source has another format, or what it declares is not valid after the conversion. */
  | { outcome: 'failed'; reason: string; problems: ManifestProblem[] };

/** Converts a manifest of another version or of agentspec to the current format. Nothing is dropped. */
export function migrate(text: string): Migration {
  const parsed = parseManifest(text);
  if (parsed.ok) return { outcome: 'current' };
  const document = parseDocument(text, AS_WRITTEN);
  if (document.errors.length > 0) return failure('it is not valid YAML', parsed.problems);
  const steps = STEPS.get(String(document.get('apiVersion')));
  if (steps === undefined) return failure('no migration exists for it', parsed.problems);
  const edits = new TextEdits(text);
  edits.setValue(document, 'apiVersion', MANIFEST_API_VERSION);
  edits.setValue(document, 'kind', MANIFEST_KIND);
  for (const step of steps) step(document, edits);
  return keepUnknownKeys({ source: text, rounds: [edits] });
}

/** A conversion: the edits of each round apply to the text after the previous round. */
interface Conversion {
  source: string;
  rounds: readonly TextEdits[];
}

/** Each round handles at most 500 fields, because the parser reports no more problems. */
const MAX_ROUNDS = 4;

/** Keeps fields that the schema does not have under `x-` keys, until the manifest is valid or none is left. */
function keepUnknownKeys({ source, rounds }: Conversion): Migration {
  const text = rounds.at(-1)?.applied() ?? source;
  const parsed = parseManifest(text);
  if (parsed.ok) return { outcome: 'migrated', text, changes: rounds.flatMap(({ changes }) => changes) };
  const failed = (reason: string): Migration => {
    const positionOf = (problem: Position) => positionInSource(problem, text, { source, rounds });
    return failure(
      reason,
      parsed.problems.map((problem) => ({ ...problem, ...positionOf(problem) })),
    );
  };
  if (rounds.length > MAX_ROUNDS) return failed('it has too many unknown fields');
  const document: Document = parseDocument(text, AS_WRITTEN);
  const edits = new TextEdits(text);
  for (const { path } of parsed.problems.filter(isUnknownKey)) {
    const tokens = parsePath(path);
    const map = mapAt(document, tokens.slice(0, -1));
    if (map !== undefined) edits.setAside(map, tokens, `${MANIFEST_API_VERSION} has no such field`);
  }
  if (edits.changes.length === 0) return failed('it would not be valid after the migration');
  return keepUnknownKeys({ source, rounds: [...rounds, edits] });
}

/** Problems are found in the converted text, and shown at their place in the source. */
function positionInSource(
  { line, column }: Position,
  text: string,
  { source, rounds }: Conversion,
): Position {
  const lineStart = text.split('\n', line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const offset = rounds.reduceRight((at, edits) => edits.sourceOffset(at), lineStart + column - 1);
  const before = source.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

function failure(reason: string, problems: ManifestProblem[]): Migration {
  return { outcome: 'failed', reason, problems };
}

const isUnknownKey = ({ message }: ManifestProblem): boolean => message.startsWith('unknown key ');
