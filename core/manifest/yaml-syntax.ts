import { isScalar, visit, type Document, type YAMLError } from 'yaml';
import type { ManifestProblem } from './manifest.ts';
import type { Place } from './line-index.ts';

/** What the YAML library found wrong, one problem per line of the file: the first error of a line causes the others. */
export function syntaxProblems(document: Document, text: string, place: Place): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const lines = new Set<number>();
  for (const error of causes(document)) {
    const start = startOf(document, error);
    const { line, column } = place(start);
    if (lines.has(line)) continue;
    lines.add(line);
    const message = NAMELESS_REFERENCE.exec(text.slice(start, start + 20))
      ? 'a reference has a name after its colon, such as $env:API_KEY'
      : messageOf(error);
    problems.push({ path: '', message: `YAML: ${message}`, line, column });
    if (endsReading(error)) break;
  }
  return problems;
}

/** A tab as indentation makes the lines around it wrong too; it is the one thing to correct. */
function causes(document: Document): YAMLError[] {
  const all = [...document.errors, ...document.warnings];
  const tabs = all.filter((error) => error.code === 'TAB_AS_INDENT');
  return tabs.length > 0 ? tabs : all;
}

/** After these nothing is in its place any more: the rest of the file is unexpected, every level above is unclosed. */
function endsReading({ code }: YAMLError): boolean {
  return code === 'RESOURCE_EXHAUSTION' || code === 'UNEXPECTED_TOKEN';
}

/** `key: $env:` is no reference to YAML but a key inside a value. */
const NAMELESS_REFERENCE = /^\$[a-z]+:\s*(?:#|\n|$)/;

/** An unclosed quote is found at the end of the file, but the mistake is where it opens. */
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
  BAD_SCALAR_START: 'a value that begins with this character must be in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a value without quotes cannot contain ": ", and no deeper keys can follow it: put it in quotes or correct the indentation',
  MULTILINE_IMPLICIT_KEY: 'a key and its ":" must be on one line; is a space missing after a colon?',
  MULTIPLE_DOCS: 'a second document begins here; a manifest is one document',
  RESOURCE_EXHAUSTION: 'is nested too deeply',
  TAB_AS_INDENT: 'a tab cannot indent; use spaces',
};

const REWORDED: readonly [RegExp, string][] = [
  [/^All (mapping|sequence) items/, 'is not indented like the lines that it belongs to'],
  [/^Flow map /, 'an object that begins with { must end with } before the next key'],
  [/^Flow sequence /, 'a list that begins with [ must end with ] before the next key'],
  [
    /^Unexpected .*(at node end|in YAML stream)/s,
    'this does not belong here: what stands before it is complete',
  ],
  [/^Missing closing (["'])quote/, 'a quote that opens here is never closed'],
];

function messageOf(error: YAMLError): string {
  const reworded = REWORDED.find(([pattern]) => pattern.test(error.message))?.[1];
  const message = MESSAGES[error.code] ?? reworded ?? error.message.slice(0, 200);
  return message.charAt(0).toLowerCase() + message.slice(1);
}
