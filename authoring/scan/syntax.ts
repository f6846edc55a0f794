import type { Input, Parser, SyntaxNode, Tree } from '@lezer/common';
import { javaScript, python, typeScript } from './parsers/main.ts';

export type Language = 'python' | 'javascript';

export const languageOf = (path: string): Language => (path.endsWith('.py') ? 'python' : 'javascript');

/**
 * Every node of a file, outer ones first. The parsers continue after an error. A text that is nested too deep for their recursion
 * has no nodes.
 */
export function nodesOf(path: string, text: string): SyntaxNode[] {
  const parser = languageOf(path) === 'python' ? python : path.endsWith('.ts') ? typeScript : javaScript;
  const nodes: SyntaxNode[] = [];
  try {
    treeOf(parser, text).iterate({ enter: ({ node }) => void nodes.push(node) });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return nodes;
}

/** Size of a piece of text, and how often a parser may read on as many pieces as the text has. */
const [PIECE, MAX_READS] = [1024, 20];

/**
 * The tree of a text, up to where reading took too long: an open regular expression is read up to the end of its line, and again
 * for each further one on the line.
 */
function treeOf(parser: Parser, text: string): Tree {
  let [reads, next] = [0, 0];
  const chunk = (from: number): string => {
    if (from === next) reads += 1;
    next = from + PIECE;
    return text.slice(from, next);
  };
  const read: Input['read'] = (from, to) => text.slice(from, to);
  const parse = parser.startParse({ length: text.length, lineChunks: false, chunk, read });
  for (;;) {
    const tree = parse.advance();
    if (tree !== null) return tree;
    const isTooLong = reads > MAX_READS * (text.length / PIECE + 1);
    if (isTooLong && parse.stoppedAt === null) parse.stopAt(parse.parsedPos);
  }
}

const isIgnored = ({ name, type }: SyntaxNode): boolean => type.isError || name.endsWith('Comment');

/** The nodes in a node, without comments. */
export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling)
    if (!isIgnored(child)) found.push(child);
  return found;
}

/** What is between the commas of a bracket. */
export function partsOf(node: SyntaxNode): SyntaxNode[][] {
  const parts: SyntaxNode[][] = [[]];
  for (const child of childrenOf(node))
    if (child.name === ',') parts.push([]);
    else if (!/^[()[\]{}]$/.test(child.name)) parts.at(-1)?.push(child);
  return parts.filter(({ length }) => length > 0);
}

const ASSIGNS = /^(?:Equals|AssignOp)$/;
const TYPE = /^Type(?:Annotation|Def)$/;

/** The value that is assigned to a name, behind an optional type; null: none. */
export function assignedTo(target: SyntaxNode): SyntaxNode | null {
  let mark = target.nextSibling;
  while (mark !== null && (isIgnored(mark) || TYPE.test(mark.name))) mark = mark.nextSibling;
  let value = ASSIGNS.test(mark?.name ?? '') ? (mark?.nextSibling ?? null) : null;
  while (value !== null && isIgnored(value)) value = value.nextSibling;
  return value;
}

/** Nodes that have the value of a node in them. */
const SAME_VALUE = /^(?:AwaitExpression|ParenthesizedExpression)$/;
/** The links of a chain such as `a.b(c)!["d"]`, whose first node is the rest of the chain. */
const LINK = /^(?:MemberExpression|CallExpression|PostfixExpression|InstantiationExpression|NewExpression)$/;

export const isLink = ({ name }: SyntaxNode): boolean => LINK.test(name);

/** The chain that begins with a node, or the node itself. */
export function chainFrom(node: SyntaxNode): SyntaxNode {
  let chain = node;
  while (chain.parent !== null && isLink(chain.parent) && chain.parent.from === node.from)
    chain = chain.parent;
  return chain;
}

/** What gets the value of a chain: a name, a member, a pattern, or the key of an object; null: nothing. */
export function targetOf(node: SyntaxNode): { target: SyntaxNode; isKey: boolean } | null {
  let value = chainFrom(node);
  while (value.parent !== null && (SAME_VALUE.test(value.parent.name) || isLink(value.parent)))
    value = value.parent;
  const before = (at: SyntaxNode): SyntaxNode | null => {
    let found = at.prevSibling;
    while (found !== null && isIgnored(found)) found = found.prevSibling;
    return found;
  };
  const mark = before(value);
  const isKey = mark?.name === ':';
  if (mark === null || !(isKey || ASSIGNS.test(mark.name))) return null;
  let target = before(mark);
  if (target !== null && TYPE.test(target.name)) target = before(target);
  return target === null ? null : { target, isKey };
}

const QUOTED = /^([a-z]{0,2})("""|'''|["'`])([^]*)$/i;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '', '\r\n': '' };

export const isString = ({ name }: SyntaxNode): boolean =>
  name === 'String' || name === 'FormatString' || name === 'TemplateString';

/** The text of a string; null: it is not a string, or it has code in it. */
export function literalOf(node: SyntaxNode, text: string): string | null {
  if (
    !isString(node) ||
    node.getChild('FormatReplacement') !== null ||
    node.getChild('Interpolation') !== null
  )
    return null;
  const [, prefix = '', quote = '', rest = ''] = QUOTED.exec(text.slice(node.from, node.to)) ?? [];
  const content = rest.endsWith(quote) ? rest.slice(0, rest.length - quote.length) : rest.trimEnd();
  if (/r/i.test(prefix)) return content;
  return content.replaceAll(/\\(\r\n|[^])/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
}
