import { isMap, isNode, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import type {
  DocumentOptions,
  Node,
  ParseOptions,
  SchemaOptions,
  ToStringOptions,
  YAMLMap,
  YAMLSeq,
} from 'yaml';
import { isRecord } from '../untrusted/fields.ts';
import { commonEnds, isEqual, type JsonObject } from './equal.ts';

/**
 * Options for a text that is written again. All scalars are strings, so that each keeps its characters: kubectl and helm read
 * `0644` and `yes` differently (YAML 1.1) from this library (YAML 1.2).
 */
export const AS_WRITTEN: ParseOptions & DocumentOptions & SchemaOptions = {
  schema: 'failsafe',
  uniqueKeys: false,
};

/** Detects the style of a text, so that the text written again has the same style. */
export function styleOf(text: string): ToStringOptions {
  return {
    lineWidth: 0,
    doubleQuotedMinMultiLineLength: Infinity,
    indent: /^( +)\S/m.exec(text)?.[1]?.length ?? 2,
    indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text),
    flowCollectionPadding: text.includes('{ '),
  };
}

/**
 * Changes a mapping from `before` to `after`, which have no null members. Parts that are equal in both keep their nodes, with
 * comments, order and quotes.
 */
export function changeMap(map: YAMLMap, before: JsonObject, after: JsonObject): void {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) map.delete(key);
  if (map.items.length === 0) map.flow = false;
  let place = 0;
  for (const [key, value] of Object.entries(after)) {
    const index = map.items.findIndex((pair) => String(pair.key) === key);
    const pair = map.items[index];
    if (pair) pair.value = changedNode(pair.value, before[key], value);
    // A member that comes from a merged anchor has no pair in this mapping.
    else if (!isEqual(before[key], value))
      map.items.splice(place, 0, ...(newNode({ [key]: value }) as YAMLMap).items);
    else continue;
    place = Math.max(index, place) + 1;
  }
}

/** The node after a change; a new node if the node cannot be changed in place. */
function changedNode(node: unknown, before: unknown, after: unknown): unknown {
  if (isEqual(before, after)) return node;
  if (isMap(node) && isRecord(before) && isRecord(after)) changeMap(node, before, after);
  else if (isSeq(node) && Array.isArray(before) && Array.isArray(after)) changeSeq(node, before, after);
  else {
    const { comment, commentBefore, spaceBefore } = isNode(node) ? node : {};
    const changed = newNode(after);
    // A text in quotes stays in quotes, so that undoing a change also restores them.
    const type = isScalar(node) && typeof after === 'string' ? node.type : undefined;
    if (isScalar(changed) && (type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE')) changed.type = type;
    return Object.assign(changed, { comment, commentBefore, spaceBefore });
  }
  return node;
}

function changeSeq(seq: YAMLSeq, before: readonly unknown[], after: readonly unknown[]): void {
  const { start, old, now } = commonEnds(before, after);
  const [first] = seq.items;
  if (start === 0 && old.length === 0 && isNode(first)) {
    // The parser assigns the comment of the first item to the list.
    first.commentBefore ??= seq.commentBefore ?? null;
    seq.commentBefore = null;
  }
  if (seq.items.length === 0) seq.flow = false;
  const items = now.map((item, index) =>
    index < old.length ? changedNode(seq.items[start + index], old[index], item) : newNode(item),
  );
  seq.items.splice(start, old.length, ...items);
}

function newNode(value: unknown): Node {
  // kubectl and helm parse `on` and `yes` as booleans (YAML 1.1), so such strings are quoted for YAML 1.1 and 1.2.
  const style = { lineWidth: 0, version: '1.1', compat: 'core', aliasDuplicateObjects: false } as const;
  return parseDocument(stringify(value, style), AS_WRITTEN).contents as Node;
}
