// Edits the text at the positions from the parser. A YAML library that writes a document again changes comments, quotes,
// indentation and empty lines, so the diff of a file under version control would be unreadable (docs/decisions/0035).
import { isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { commonEnds, isEqual } from './equal.ts';
import { isRecord } from '../untrusted/fields.ts';
import { itemLines, pairLines } from './render.ts';
import type { TextEdits } from './text-edits.ts';

/** A JSON object: members by name. */
export type JsonObject = Readonly<Record<string, unknown>>;

const startOf = (node: unknown): number => (node as Node).range?.[0] ?? 0;

/** Offset after the colon of a pair, or after its key if there is no colon. */
function colonOf({ key, srcToken }: Pair): number {
  const separators = srcToken && 'sep' in srcToken ? srcToken.sep : undefined;
  const colon = separators?.find((token) => token.type === 'map-value-ind');
  return colon ? colon.offset + 1 : ((key as Node).range?.[1] ?? 0);
}

function endOfPair(pair: Pair): number {
  return Math.max(colonOf(pair), endOf(pair.value as Node | null));
}

/** End of the last value of a node. The range of a block also contains the comments and empty lines after the block. */
function endOf(node: Node | null): number {
  const lastPair = isMap(node) && node.flow !== true ? node.items.at(-1) : undefined;
  if (lastPair) return endOfPair(lastPair);
  if (isSeq(node) && node.flow !== true)
    return Math.max(dashOf(node, node.items.length - 1) + 1, endOf(node.items.at(-1) as Node));
  return node?.range?.[1] ?? 0;
}

function dashOf(seq: YAMLSeq, index: number): number {
  const token = seq.srcToken;
  if (token?.type !== 'block-seq') throw new Error('only a block sequence has dashes');
  const dashes = token.items.flatMap(({ start }) => start.filter(({ type }) => type === 'seq-item-ind'));
  return dashes[index]?.offset ?? 0;
}

/**
 * Adds the edits that change a mapping from `before` to `after`. All other characters stay unchanged. `before` and `after`
 * must not contain null members; a null member counts as absent.
 */
export function changeMap(edits: TextEdits, map: YAMLMap, before: JsonObject, after: JsonObject): void {
  const nameOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '');
  const pairs = new Map(map.items.map((pair) => [nameOf(pair), pair]));
  const isKept = (pair: Pair): boolean =>
    Object.hasOwn(after, nameOf(pair)) || !Object.hasOwn(before, nameOf(pair));
  if (Object.keys(after).length === 0) {
    edits.replace(startOf(map), endOf(map), '{}');
    return;
  }
  for (const [key, pair] of pairs) {
    if (!Object.hasOwn(after, key)) {
      if (Object.hasOwn(before, key)) removePair(edits, map, pair, isKept);
    } else changePair(edits, map, pair, [key, before[key], after[key]]);
  }
  let previous: Pair | null = null;
  for (const [key, value] of Object.entries(after)) {
    const pair = pairs.get(key);
    // A member that comes from a merged anchor has no text in this mapping.
    if (pair === undefined && !isEqual(before[key], value)) insertPair(edits, map, previous, [key, value]);
    previous = pair ?? previous;
  }
}

/** Name, old value and new value of a member. */
type Change = [key: string, before: unknown, after: unknown];

function changePair(edits: TextEdits, map: YAMLMap, pair: Pair, [key, before, after]: Change): void {
  if (isEqual(before, after)) return;
  const value = pair.value as Node | null;
  const isEmptyFlow = (isMap(value) || isSeq(value)) && value.items.length === 0;
  if (!isEmptyFlow && changeValue(edits, value, [key, before, after], pair)) return;
  const from = startOf(pair.key);
  if (map.flow === true) {
    edits.replace(from, endOfPair(pair), flowPair(map, key, after));
    return;
  }
  const lines = pairLines(key, after, edits.columnOf(from), edits.style).trim();
  edits.replace(from, endOfPair(pair), lines);
}

/** Changes a value in place; false: the value must be rewritten as a whole. */
function changeValue(
  edits: TextEdits,
  node: Node | null,
  [, before, after]: Change,
  pair: Pair | null,
): boolean {
  if (isMap(node) && isRecord(before) && isRecord(after)) {
    changeMap(edits, node, before, after);
    return true;
  }
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after)) {
    changeSeq(edits, node, [before, after], pair);
    return true;
  }
  const isInline = isScalar(node) && typeof after !== 'object' && !(node.type ?? '').startsWith('BLOCK');
  if (!isInline || node.range?.[0] === node.range?.[1]) return false;
  const text = scalarText(after);
  if (text.includes('\n')) return false;
  edits.replace(startOf(node), node.range?.[1] ?? 0, text);
  return true;
}

function insertPair(
  edits: TextEdits,
  map: YAMLMap,
  previous: Pair | null,
  [key, value]: [string, unknown],
): void {
  const first = map.items[0];
  if (!first) {
    edits.replace(startOf(map), endOf(map), `{${flowPair(map, key, value)}}`);
    return;
  }
  const start = startOf(first.key);
  if (map.flow === true) {
    const text = flowPair(map, key, value);
    if (previous) edits.replace(endOfPair(previous), endOfPair(previous), `, ${text}`);
    else edits.replace(start, start, `${text}, `);
    return;
  }
  const indent = edits.columnOf(start);
  const lines = pairLines(key, value, indent, edits.style);
  if (previous) edits.insertLines(edits.nextLine(endOfPair(previous)), lines);
  else edits.replace(start, start, lines.trimStart() + ' '.repeat(indent));
}

/** Removes a pair together with its separator. `isKept` tells which other pairs remain. */
function removePair(edits: TextEdits, map: YAMLMap, pair: Pair, isKept: (pair: Pair) => boolean): void {
  const index = map.items.indexOf(pair);
  const from = startOf(pair.key);
  if (map.flow !== true && edits.isFirstOnLine(from)) {
    edits.replace(edits.lineStart(from), edits.nextLine(endOfPair(pair)), '');
    return;
  }
  const next = map.items[index + 1];
  const previous = map.items.slice(0, index).findLast(isKept);
  if (next && map.items.slice(index + 1).some(isKept)) edits.replace(from, startOf(next.key), '');
  else edits.replace(previous ? endOfPair(previous) : from, endOfPair(pair), '');
}

/** A pair for a mapping in braces. If the other keys are quoted, JSON is used; else plain keys and values stay unquoted. */
function flowPair({ items }: YAMLMap, key: string, value: unknown): string {
  const isPlain = items.some(({ key: other }) => isScalar(other) && other.type === 'PLAIN');
  if (!isPlain || !/^[A-Za-z]\w*$/.test(key)) return `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
  const text = scalarText(value);
  return `${key}: ${/^[A-Za-z0-9][\w./-]*$/.test(text) ? text : JSON.stringify(value)}`;
}

/** A value in the form that follows a colon. */
const scalarText = (value: unknown): string =>
  pairLines('x', value, 0, { indentSeq: true, newline: '\n' }).trim().slice('x: '.length);

function changeSeq(
  edits: TextEdits,
  seq: YAMLSeq,
  lists: readonly [readonly unknown[], readonly unknown[]],
  pair: Pair | null,
): void {
  const { start, old, now } = commonEnds(...lists);
  const shared = Math.min(old.length, now.length);
  for (let index = 0; index < shared; index += 1) {
    const node = itemAt(seq, start + index);
    if (!changeValue(edits, node, ['', old[index], now[index]], null))
      edits.replace(startOf(node), endOf(node), JSON.stringify(now[index]));
  }
  const at = start + shared;
  const [removed, added] = [old.length - shared, now.slice(shared)];
  if (seq.flow === true) {
    changeFlowItems(edits, seq, { at, removed, added });
    return;
  }
  for (let index = at; index < at + removed; index += 1) {
    const end = Math.max(dashOf(seq, index) + 1, endOf(itemAt(seq, index)));
    edits.replace(edits.lineStart(dashOf(seq, index)), edits.nextLine(end), '');
  }
  // Insert before the first item and before the comment of that item.
  const dash = dashOf(seq, 0);
  const before = at > 0 ? endOf(itemAt(seq, at - 1)) : pair ? colonOf(pair) : null;
  const offset = before === null ? edits.lineStart(dash) : edits.nextLine(before);
  for (const item of added) edits.insertLines(offset, itemLines(item, edits.columnOf(dash), edits.style));
}

/** Removes and adds items at one position of a list in brackets. */
function changeFlowItems(
  edits: TextEdits,
  seq: YAMLSeq,
  { at, removed, added }: { at: number; removed: number; added: readonly unknown[] },
): void {
  const items = seq.items.length;
  if (removed > 0) {
    const [from, to] = [startOf(itemAt(seq, at)), endOf(itemAt(seq, at + removed - 1))];
    if (at + removed < items) edits.replace(from, startOf(itemAt(seq, at + removed)), '');
    else edits.replace(at > 0 ? endOf(itemAt(seq, at - 1)) : from, to, '');
  }
  const text = added.map((item) => JSON.stringify(item)).join(', ');
  if (text === '') return;
  if (at > 0) edits.replace(endOf(itemAt(seq, at - 1)), endOf(itemAt(seq, at - 1)), `, ${text}`);
  else if (items > 0) edits.replace(startOf(itemAt(seq, 0)), startOf(itemAt(seq, 0)), `${text}, `);
  else edits.replace(startOf(seq), endOf(seq), `[${text}]`);
}

const itemAt = (seq: YAMLSeq, index: number): Node => seq.items[index] as Node;
