import { isScalar, visit, type Document, type YAMLError } from 'yaml';
import type { ManifestProblem } from './manifest.ts';
import type { Place } from './yaml-tree.ts';

/** Syntax errors of the YAML library, one problem per line of the file, because the first error of a line causes the others. */
export function syntaxProblems(document: Document, text: string, place: Place): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const lines = new Set<number>();
  for (const error of causes(document)) {
    const start = startOf(document, error);
    const { line, column } = place(start);
    if (lines.has(line)) continue;
    lines.add(line);
    const message = NAMELESS_REFERENCE.exec(text.slice(start, start + 20))
      ? 'a reference needs a name after its colon, such as $env:API_KEY'
      : messageOf(error);
    problems.push({ path: '', message: `YAML: ${message}`, line, column });
    if (isFatal(error)) break;
  }
  return problems;
}

/** A tab used as indentation also causes errors on the lines around the tab. Only the tab is reported. */
function causes(document: Document): YAMLError[] {
  const all = [...document.errors, ...document.warnings];
  const tabs = all.filter((error) => error.code === 'TAB_AS_INDENT');
  return tabs.length > 0 ? tabs : all;
}

/** Whether the error invalidates the rest of the file, so that later errors are not meaningful. */
function isFatal({ code }: YAMLError): boolean {
  return code === 'RESOURCE_EXHAUSTION' || code === 'UNEXPECTED_TOKEN';
}

/** YAML does not parse `key: $env:` as a string but as a key inside a value. */
const NAMELESS_REFERENCE = /^\$[a-z]+:\s*(?:#|\n|$)/;

/** The YAML library reports an unclosed quote at the end of the file. The position of the opening quote is more useful. */
function startOf(document: Document, error: YAMLError): number {
  const [offset] = error.pos;
  if (error.code !== 'MISSING_CHAR' || !error.message.includes('quote')) return offset;
  let start = offset;
  visit(document, (_key, node) => {
    if (isScalar(node) && node.range && node.range[0] <= offset && offset <= node.range[2])
      start = node.range[0];
  });
  return start;
}

const MESSAGES: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_SCALAR_START: 'a value that begins with this character must be quoted',
  BLOCK_AS_IMPLICIT_KEY:
    'an unquoted value must not contain ": " or be followed by nested keys; quote the value or correct the indentation',
  MULTILINE_IMPLICIT_KEY: 'a key and its ":" must be on one line; check for a missing space after a colon',
  MULTIPLE_DOCS: 'a second document begins here; a manifest must be a single document',
  RESOURCE_EXHAUSTION: 'the document is nested too deeply',
  TAB_AS_INDENT: 'tabs are not allowed as indentation; use spaces',
};

const REWORDED: readonly [RegExp, string][] = [
  [/^All (mapping|sequence) items/, 'the indentation differs from the other lines of the same block'],
  [/^Flow map /, 'an object that begins with { must end with } before the next key'],
  [/^Flow sequence /, 'a list that begins with [ must end with ] before the next key'],
  [/^Unexpected .*(at node end|in YAML stream)/s, 'unexpected content after a complete value'],
  [/^Missing closing (["'])quote/, 'the quote that opens here is never closed'],
];

function messageOf(error: YAMLError): string {
  const reworded = REWORDED.find(([pattern]) => pattern.test(error.message))?.[1];
  const message = MESSAGES[error.code] ?? reworded ?? error.message.slice(0, 200);
  return message.charAt(0).toLowerCase() + message.slice(1);
}
