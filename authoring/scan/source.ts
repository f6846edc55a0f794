import type { SyntaxNode } from '@lezer/common';
import { isString, languageOf, literalOf, nodesOf, type Language } from './syntax.ts';

/** A file of the scanned directory. The path is relative to the directory, with `/`. */
export interface SourceFile {
  path: string;
  text: string;
}

/** A file with the nodes of its syntax tree. */
export interface Source extends SourceFile {
  language: Language;
  /** Outer nodes come before the nodes in them. */
  nodes: readonly SyntaxNode[];
  /** Offset of the start of each line. */
  lineStarts: readonly number[];
}

/** Where something was found; lines begin at 1. */
export interface Place {
  file: string;
  line: number;
}

export function sourceOf({ path, text }: SourceFile): Source {
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1);
  return { path, text, language: languageOf(path), nodes: nodesOf(path, text), lineStarts };
}

export const textOf = ({ text }: Source, { from, to }: SyntaxNode): string => text.slice(from, to);

/** The strings of a file without code in them, with their texts. */
export function stringsOf({ nodes, text }: Source): { node: SyntaxNode; literal: string }[] {
  return nodes.filter(isString).flatMap((node) => {
    const literal = literalOf(node, text);
    return literal === null ? [] : [{ node, literal }];
  });
}

/** Where a node begins. */
export function placeOf({ path, lineStarts }: Source, { from }: Pick<SyntaxNode, 'from'>): Place {
  let [low, high] = [0, lineStarts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((lineStarts[middle] ?? 0) <= from) low = middle;
    else high = middle - 1;
  }
  return { file: path, line: low + 1 };
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
