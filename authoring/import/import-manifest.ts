import type { ManifestProblem } from '../../core/manifest/manifest.ts';
import { MAX_MANIFEST_BYTES, parseManifest } from '../../core/manifest/parse-manifest.ts';
import { RELATED_FORMATS } from '../../core/manifest/related-formats.ts';
import { MANIFEST_API_VERSION } from '../../core/manifest/schema.ts';
import { quoted } from '../../core/untrusted/quoted.ts';
import { agentCard } from './agent-card.ts';
import type { Cursor } from './cursor.ts';
import { manifestText } from './draft.ts';
import { kagentAgent } from './kagent.ts';
import { mcpServer } from './mcp-server.ts';
import { agentsIn, readDocuments } from './read-documents.ts';
import type { SourceKind } from './source-kind.ts';

/** All formats of a source. */
export const SOURCE_KINDS: readonly SourceKind[] = [kagentAgent, agentCard, mcpServer];

export type Imported =
  /** `text`: a valid manifest; `source`: the format of the source; `unused`: paths without a place in the manifest. */
  | { ok: true; text: string; source: string; unused: string[] }
  | { ok: false; reason: string; problems: ManifestProblem[] };

/**
 * Writes a manifest from a document that describes an agent. The format is recognized by the content. Pure; never throws.
 * @param fallbackName name of the agent if the source has none
 */
export function importManifest(text: string, fallbackName: string): Imported {
  if (text.length > MAX_MANIFEST_BYTES) return failure('exceeds the maximum size of 1 MiB');
  const read = readDocuments(text);
  if (!read.ok) return failure('cannot be read', read.problems);
  const documents = read.documents.flatMap(agentsIn);
  const found = documents.flatMap((document) => {
    const kind = SOURCE_KINDS.find((each) => each.matches(document));
    return kind === undefined ? [] : [{ kind, document }];
  });
  const [first] = found;
  if (first === undefined) return failure(unknownFormat(documents));
  if (found.length > 1) return failure(`describes ${found.length} agents; keep only one of them`);
  const { kind, document } = first;
  const draft = kind.convert(
    document,
    documents.filter((each) => each !== document),
  );
  const problems = read.documents.flatMap((each) => each.problems);
  if (problems.length > 0) return failure(`is not a valid ${kind.name.replace(/^\S+ /, '')}`, problems);
  const unused = unusedIn(read.documents);
  const manifest = manifestText(draft, { source: kind.name, fallbackName, unused });
  const parsed = parseManifest(manifest);
  if (!parsed.ok) return failure(`does not make a valid manifest: ${parsed.problems[0]?.message ?? ''}`);
  return { ok: true, text: manifest, source: kind.name, unused };
}

function failure(reason: string, problems: readonly ManifestProblem[] = []): Imported {
  return { ok: false, reason, problems: [...problems] };
}

function unknownFormat(documents: readonly Cursor[]): string {
  const apiVersion = documents.map((each) => each.peekText('apiVersion')).find((each) => each !== '') ?? '';
  if (apiVersion === MANIFEST_API_VERSION) return 'is already a manifest; copy it';
  const related = RELATED_FORMATS.get(apiVersion);
  if (related !== undefined) return `is ${related}; convert it with "platform migrate"`;
  const got = apiVersion !== '' ? `; got apiVersion ${quoted(apiVersion)}` : '';
  return `is not one of the known formats: ${SOURCE_KINDS.map(({ name }) => name).join(', ')}${got}`;
}

/** With several documents, each path names its document. */
function unusedIn(documents: readonly Cursor[]): string[] {
  return documents.flatMap((document, index) =>
    document.unused().map((path) => {
      if (documents.length === 1) return path;
      return path === '' ? `document ${index + 1}` : `document ${index + 1}: ${path}`;
    }),
  );
}
