import type { ManifestProblem } from './manifest.ts';
import { nearest } from './nearest.ts';
import { MANIFEST_SCHEMA, schemaNodeAt } from './schema.ts';
import type { SchemaNode } from './schema-node.ts';
import { suggestValue } from './suggest-value.ts';
import { validateManifest } from './validate.generated.ts';
import { oneOf, quoted } from './wording.ts';
import { formatPath, keyOffsetAt, nodeAt, problemAt, valueOffsetAt } from './yaml-tree.ts';
import type { Located, PathToken, Place } from './yaml-tree.ts';

/** An error of ajv. `messages: false` is set, because this file composes the messages. */
interface ValidationError {
  keyword: string;
  instancePath: string;
  schemaPath: string;
  params: Record<string, unknown>;
}

/** Validates the tree against the schema. Returns one problem per mistake. */
export function schemaProblems(root: Located, place: Place): ManifestProblem[] {
  if (validateManifest(root.value)) return [];
  const errors = withoutRedundant(validateManifest.errors as ValidationError[]);
  const unknown = Map.groupBy(
    errors.filter(({ keyword }) => keyword === 'additionalProperties'),
    ({ instancePath }) => instancePath,
  );
  const isMisspelt = (missing: ValidationError): boolean =>
    (unknown.get(missing.instancePath) ?? []).some((error) => nearKey(error) === missingKey(missing));
  const context: Context = { root, place };
  return errors
    .filter((error) => !(error.keyword === 'required' && isMisspelt(error)))
    .map((error) => problemOf(error, context));
}

interface Context {
  root: Located;
  place: Place;
}

/**
 * ajv reports a failed alternative (anyOf, if) together with the errors of all its branches. For a value of the wrong type,
 * ajv also reports every other rule that the value fails. Each of these cases is one mistake, so one error is kept.
 */
function withoutRedundant(errors: readonly ValidationError[]): ValidationError[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  const seen = new Set<string>();
  return errors.filter((error) => {
    if (error.keyword === 'if') return false;
    const inChoice = choices.some(
      (choice) =>
        error !== choice &&
        error.instancePath === choice.instancePath &&
        error.schemaPath.startsWith(`${choice.schemaPath}/`),
    );
    if (inChoice) return false;
    if (error.keyword === 'required' || error.keyword === 'additionalProperties') return true;
    if (seen.has(error.instancePath)) return false;
    // ajv reports a failed `type` before the other rules of the value.
    seen.add(error.instancePath);
    return true;
  });
}

const missingKey = (error: ValidationError): string => String(error.params['missingProperty']);
const unknownKey = (error: ValidationError): string => String(error.params['additionalProperty']);
const objectOf = (error: ValidationError): SchemaNode =>
  schemaNodeAt(error.schemaPath.replace(/\/[^/]+$/, ''));

function nearKey(error: ValidationError): string | undefined {
  return nearest(unknownKey(error), Object.keys(objectOf(error).properties ?? {}));
}

function pathOf(instancePath: string, root: Located): PathToken[] {
  const tokens: PathToken[] = [];
  let node: Located | undefined = root;
  for (const raw of instancePath.split('/').slice(1)) {
    const token: string = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    const next: Located | undefined = node?.items?.[Number(token)] ?? node?.members?.get(token)?.node;
    tokens.push(node?.items === undefined ? token : Number(token));
    node = next;
  }
  return tokens;
}

function problemOf(error: ValidationError, { root, place }: Context): ManifestProblem {
  const path = pathOf(error.instancePath, root);
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownKeyProblem(error, path, { root, place });
    case 'required': {
      const key = missingKey(error);
      return problemAt([...path, key], `the key ${quoted(key)} is missing`, place(keyOffsetAt(root, path)));
    }
    case 'anyOf':
    case 'oneOf':
      return problemAt(
        path,
        objectOf(error).$comment ?? 'does not match any of the allowed forms',
        place(keyOffsetAt(root, path)),
      );
    default:
      return valueProblem(error, path, { root, place });
  }
}

function unknownKeyProblem(error: ValidationError, path: PathToken[], context: Context): ManifestProblem {
  const key = unknownKey(error);
  const inner = [...path, key];
  const suggestion = nearKey(error) ?? pathOfMisplacedKey(key, path);
  const known = Object.keys(objectOf(error).properties ?? {});
  const message = unknownKeyMessage(key, suggestion === undefined ? known : []);
  return problemAt(inner, message, context.place(keyOffsetAt(context.root, inner)), suggestion);
}

function unknownKeyMessage(key: string, known: readonly string[]): string {
  if (key === '<<') return 'merge keys ("<<") are not part of YAML 1.2; write out the merged keys';
  const rest = known.length === 0 ? '' : `; valid keys: ${known.join(', ')}`;
  return `unknown key ${quoted(key)}${rest}`;
}

let pathsByKey: Map<string, string[]> | undefined;

/** The schema path of a key that is at the wrong place. undefined: there is none, or several are equally close to the root. */
function pathOfMisplacedKey(key: string, path: readonly PathToken[]): string | undefined {
  pathsByKey ??= indexKeys(MANIFEST_SCHEMA, '', new Map());
  const here = formatPath(path).replaceAll(/\[\d+\]/g, '[]');
  const everywhere = pathsByKey.get(key) ?? [];
  const outsideLists = everywhere.filter((place) => !place.includes('[]'));
  const places = outsideLists.length > 0 ? outsideLists : everywhere;
  const below = places.filter((place) => here !== '' && place.startsWith(`${here}.`));
  const candidates = below.length > 0 ? below : places;
  const depthOf = (place: string): number => place.split('.').length;
  const least = Math.min(...candidates.map(depthOf));
  const nearestToRoot = candidates.filter((place) => depthOf(place) === least);
  return nearestToRoot.length === 1 ? nearestToRoot[0] : undefined;
}

function indexKeys(node: SchemaNode, path: string, index: Map<string, string[]>): Map<string, string[]> {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    const inner = path === '' ? key : `${path}.${key}`;
    index.set(key, [...(index.get(key) ?? []), inner]);
    indexKeys(child, inner, index);
  }
  if (node.items !== undefined) indexKeys(node.items, `${path}[]`, index);
  return index;
}

function valueProblem(error: ValidationError, path: PathToken[], { root, place }: Context): ManifestProblem {
  const node = valueSchema(error);
  const found = nodeAt(root, path) ?? root;
  const at = place(valueOffsetAt(root, path));
  return problemAt(path, valueMessage(node, found), at, suggestValue(node, found));
}

/** The schema node of the value: the node with the type, which is the parent of an `else` node with the pattern. */
function valueSchema(error: ValidationError): SchemaNode {
  return schemaNodeAt(error.schemaPath.replace(/\/[^/]+$/, '').replace(/\/else$/, ''));
}

const NO_GRPC = 'is not supported, because the sidecar is an HTTP/1.1 proxy; use';

function valueMessage(node: SchemaNode, found: Located): string {
  if (found.value === 'grpc' && node.enum?.includes('websocket') === true)
    return `grpc ${NO_GRPC} rest, mcp or websocket`;
  if (found.value === 'GRPC' && node.enum?.includes('JSONRPC') === true)
    return `GRPC ${NO_GRPC} JSONRPC or HTTP+JSON`;
  const wanted = wantedIn(node);
  if (found.value === '' && node.minLength === 1) return 'must not be empty';
  return `must be ${wanted}; got ${describe(node, found)}`;
}

function wantedIn(node: SchemaNode): string {
  if (node.const !== undefined) return quoted(node.const);
  if (node.enum !== undefined) return oneOf(node.enum);
  const wanted = node.$comment ?? node.else?.$comment;
  if (node.type === 'string' && wanted !== undefined) return wanted;
  return `${WORDS[node.type ?? 'string']}${rangeOf(node)}`;
}

const WORDS = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
} as const;

function rangeOf({ minimum, maximum }: SchemaNode): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

function describe(node: SchemaNode, found: Located): string {
  if (found.items !== undefined) return 'a list';
  if (found.members !== undefined) return 'an object';
  if (found.value === null) return 'an empty value';
  if (typeof found.value === 'string')
    return node.writeOnly === true ? 'another string' : quoted(found.value);
  if (typeof found.value === 'boolean') return String(found.value);
  return node.writeOnly === true ? 'a number' : `the number ${(found.source ?? '').slice(0, 60)}`;
}
