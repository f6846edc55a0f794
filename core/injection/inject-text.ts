import { isMap, isScalar, parseAllDocuments, visit, type Document } from 'yaml';
import { isRecord, jsonOf } from '../untrusted/fields.ts';
import { AS_WRITTEN, changeMap, styleOf } from './edit-yaml.ts';
import { isEqual, type JsonObject } from './equal.ts';
import { identityOf, podPlacesOf, type Identity, type PodPlace } from './workloads.ts';

/** The result for one workload, or for a document without a workload. */
export interface TextOutcome {
  /** The document's index in the text, from 0. */
  document: number;
  kind: string;
  name: string;
  namespace: string;
  action: 'changed' | 'skipped' | 'refused' | 'passed';
  /** The reason for `skipped` and `refused`; `no-workload` for a document that is passed through. */
  code: string;
  message: string;
}

/** What happens with one pod of a text. If one is refused, no pod of the text is changed. */
export type PodResult =
  | { action: 'changed'; pod: JsonObject; message?: string }
  | { action: 'skipped' | 'refused'; code: string; message: string };

export interface ChangedText {
  /** The text with all changes; the original text if any of its workloads was refused. */
  text: string;
  outcomes: TextOutcome[];
}

interface Change {
  place: PodPlace;
  after: JsonObject;
}

/**
 * Changes the pods in a text of one or more YAML documents, or of JSON. A YAML document without a changed pod keeps every
 * character. A document with one keeps its comments, order and quotes; spaces and line breaks may change.
 */
export function changePods(text: string, change: (place: PodPlace) => PodResult): ChangedText {
  if (text.startsWith(BYTE_ORDER_MARK)) {
    const changed = changePods(text.slice(BYTE_ORDER_MARK.length), change);
    return { ...changed, text: BYTE_ORDER_MARK + changed.text };
  }
  const documents = parseDocuments(text);
  const broken = documents.flatMap((document, index) => problemOf(document, index));
  if (broken.length > 0) return { text, outcomes: broken };
  const outcomes: TextOutcome[] = [];
  const changes: Change[][] = documents.map((document, index) => {
    const object: unknown = withoutNulls(document.toJS());
    const places = podPlacesOf(object);
    if (places.length === 0 && object !== null)
      outcomes.push(outcomeOf(index, { ...identityOf(object), namespace: '' }, PASSED));
    return places.flatMap((place) => {
      const result = change(place);
      outcomes.push(outcomeOf(index, place, result));
      return result.action === 'changed' ? [{ place, after: result.pod }] : [];
    });
  });
  if (outcomes.some(({ action }) => action === 'refused')) return { text, outcomes };
  const json = jsonOf(text);
  const changed =
    json === undefined
      ? changedYaml(text, documents, changes)
      : changedJson({ text, value: json }, changes.flat());
  if (changed !== null) return { text: changed, outcomes };
  const message =
    'the text cannot be changed in place: replace the anchors and aliases of its workloads with their values';
  return {
    text,
    outcomes: outcomes.map((outcome) =>
      outcome.action === 'changed'
        ? { ...outcome, action: 'refused', code: 'text-unusual', message }
        : outcome,
    ),
  };
}

/** Some editors begin a text with it. The parsers drop it. */
const BYTE_ORDER_MARK = '\ufeff';

const PASSED = { action: 'passed', code: 'no-workload', message: 'no workload: passed through' } as const;

function outcomeOf(
  document: number,
  { kind, name, namespace }: Identity,
  { action, code = '', message = '' }: Pick<TextOutcome, 'action'> & { code?: string; message?: string },
): TextOutcome {
  return { document, kind, name, namespace, action, code, message };
}

const parseDocuments = (text: string): Document.Parsed[] => {
  const documents = parseAllDocuments(text, { merge: true, prettyErrors: true });
  return 'empty' in documents ? [] : documents;
};

function problemOf(document: Document.Parsed, index: number): TextOutcome[] {
  const problem = document.errors[0]?.message.split('\n')[0]?.replace(/:$/, '') ?? nonScalarKey(document);
  if (problem === null) return [];
  const nothing = { kind: '', name: '', namespace: '' };
  return [
    outcomeOf(index, nothing, { action: 'refused', code: 'not-yaml', message: `not YAML: ${problem}` }),
  ];
}

/** `{{ x }}` is valid YAML, a mapping whose key is a mapping, but it is always an unrendered template. */
function nonScalarKey(document: Document.Parsed): string | null {
  let isFound = false;
  visit(document, {
    Pair: (_key, { key }) => {
      isFound ||= !isScalar(key);
      return isFound ? visit.BREAK : undefined;
    },
  });
  return isFound ? 'a key is not a scalar; render the template first' : null;
}

/** JSON has no comments to keep, so the text is serialized again with its own indentation. */
function changedJson({ text, value }: { text: string; value: unknown }, changes: readonly Change[]): string {
  const [, indent = ''] = /^\s*[[{]\r?\n([ \t]+)/.exec(text) ?? [];
  const ending = /\s*$/.exec(text)?.[0] ?? '';
  const changed = JSON.stringify(withNulls(value, withChanges(withoutNulls(value), changes)), null, indent);
  return changed.replaceAll('\n', lineEndOf(text)) + ending;
}

const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

/** null: the edited text does not parse to the expected objects and must not be written. */
function changedYaml(
  text: string,
  documents: readonly Document.Parsed[],
  changes: readonly (readonly Change[])[],
): string | null {
  const style = styleOf(text);
  let end = 0;
  const chunks = parseAllDocuments(text, AS_WRITTEN).map((document, index) => {
    const chunk = text.slice(end, (end = document.range[2]));
    if (changes[index]?.length === 0) return chunk;
    for (const { place, after } of changes[index] ?? []) {
      const pod = document.getIn(place.path, true);
      if (isMap(pod)) changeMap(pod, place.pod, after);
    }
    const written = document.toString(style).replaceAll('\n', lineEndOf(text));
    return chunk.endsWith('\n') ? written : written.trimEnd();
  });
  const edited = chunks.join('');
  const parsed = parseDocuments(edited);
  const isAsExpected =
    parsed.length === documents.length &&
    parsed.every(
      (document, index) =>
        document.errors.length === 0 &&
        isEqual(
          withoutNulls(document.toJS()),
          withChanges(withoutNulls(documents[index]?.toJS()), changes[index] ?? []),
        ),
    );
  return isAsExpected ? edited : null;
}

function withChanges(object: unknown, changes: readonly Change[]): unknown {
  return changes.reduce((changed, { place, after }) => withValueAt(changed, place.path, after), object);
}

function withValueAt(object: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(object))
    return object.map((item: unknown, index) => (index === key ? withValueAt(item, rest, value) : item));
  const members = object as JsonObject;
  return { ...members, [key]: withValueAt(members[key], rest, value) };
}

/** Removes null members: in Kubernetes objects they mean the same as absent members. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, withoutNulls(member)]),
  );
}

/** Puts the null members of `before` back into `after`, at their earlier positions. */
function withNulls(before: unknown, after: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(after))
    return after.map(
      (item: unknown): unknown => before.find((old) => isEqual(withoutNulls(old), item)) ?? item,
    );
  if (!isRecord(before) || !isRecord(after)) return after;
  const names = Object.keys(before);
  const entries = Object.entries(after).map(([key, value]): [string, unknown] => [
    key,
    withNulls(before[key], value),
  ]);
  for (const [index, name] of names.entries()) {
    if (before[name] !== null || Object.hasOwn(after, name)) continue;
    const previous = entries.findIndex(([key]) => key === names[index - 1]);
    entries.splice(previous + 1, 0, [name, null]);
  }
  return Object.fromEntries(entries);
}
