import { tokensOf, type Language, type Token } from './tokens.ts';

/** A file of the scanned directory. The path is relative to the directory, with `/`. */
export interface SourceFile {
  path: string;
  text: string;
}

/** A file with its tokens and brackets. */
export interface Source extends SourceFile {
  language: Language;
  tokens: readonly Token[];
  /**
   * Of an opening bracket: index of its closing bracket, or the number of tokens if there is none. Of a closing bracket: index of
   * its opening bracket, or -1. Of another token: its own index.
   */
  partner: Int32Array;
  /** Index of the innermost open bracket around a token; -1: none. */
  parent: Int32Array;
  /** Offset of the start of each line. */
  lineStarts: readonly number[];
}

/** Where something was found; lines begin at 1. */
export interface Place {
  file: string;
  line: number;
}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
  ['${', '}'],
]);
const MARKS: ReadonlySet<string> = new Set([')', ']', '}']);
/** How many unclosed brackets may be between a closing bracket and its partner. More would make invalid code slow. */
const MAX_UNCLOSED = 8;

export const languageOf = (path: string): Language => (path.endsWith('.py') ? 'python' : 'javascript');

export function sourceOf({ path, text }: SourceFile): Source {
  const language = languageOf(path);
  const tokens = tokensOf(text, language);
  return { path, text, language, tokens, ...bracketsOf(tokens), lineStarts: lineStartsOf(text) };
}

function bracketsOf(tokens: readonly Token[]): Pick<Source, 'partner' | 'parent'> {
  const partner = Int32Array.from(tokens.keys());
  const parent = new Int32Array(tokens.length).fill(-1);
  const open: number[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    const isMark = kind === 'punctuation';
    if (isMark && MARKS.has(text)) closeBracket(index, { tokens, partner, open });
    parent[index] = open.at(-1) ?? -1;
    if (!isMark || !CLOSING.has(text)) continue;
    partner[index] = tokens.length;
    open.push(index);
  }
  return { partner, parent };
}

function closeBracket(
  index: number,
  { tokens, partner, open }: { tokens: readonly Token[]; partner: Int32Array; open: number[] },
): void {
  const mark = tokens[index]?.text;
  partner[index] = -1;
  for (let depth = 1; depth <= Math.min(open.length, MAX_UNCLOSED); depth += 1) {
    const opening = open.at(-depth) ?? -1;
    if (CLOSING.get(tokens[opening]?.text ?? '') !== mark) continue;
    partner[index] = opening;
    partner[opening] = index;
    open.length -= depth;
    return;
  }
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Name or punctuation at an index; empty for strings, numbers and after the end. */
export function wordAt({ tokens }: Source, index: number): string {
  const token = tokens[index];
  return token?.kind === 'name' || token?.kind === 'punctuation' ? token.text : '';
}

export const isName = ({ tokens }: Source, index: number): boolean => tokens[index]?.kind === 'name';

/** Index of the line that contains an offset, beginning at 0. */
function lineIndex(lineStarts: readonly number[], offset: number): number {
  let [low, high] = [0, lineStarts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((lineStarts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Column of a token, beginning at 0, if nothing but blanks is before it on its line; -1 for any other token. */
export function indentOf({ tokens, lineStarts }: Source, index: number): number {
  const start = tokens[index]?.start ?? 0;
  const lineStart = lineStarts[lineIndex(lineStarts, start)] ?? 0;
  const previousEnd = tokens[index - 1]?.end ?? 0;
  if (index > 0 && previousEnd > lineStart) return -1;
  return start - lineStart;
}

export const isFirstOnLine = (source: Source, index: number): boolean => indentOf(source, index) >= 0;

export function placeOf({ path, tokens, lineStarts }: Source, index: number): Place {
  return { file: path, line: lineIndex(lineStarts, tokens[index]?.start ?? 0) + 1 };
}

/** Tests use other models, tools and variables than the agent. Their content is not evidence of what the agent has. */
export function isTest(path: string): boolean {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  return (
    parts.some((part) => /^(?:tests?|__tests__|__mocks__|spec|e2e|fixtures|testing)$/.test(part)) ||
    /^(?:test_.*|.*_test|conftest)\.py$|\.(?:test|spec)\.[cm]?[jt]s$/.test(name)
  );
}
