/** A JSON value. */
type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
  [key: string]: Json;
}

/**
 * The difference of one object from another by path: `spec.containers[agent].image: agent:2`. The value null marks a missing
 * member. Objects in a list are identified by name. The path of a list with `[]` has the names in order where they are not in
 * the default order, which is the previous order with new names at the end.
 */
export type Difference = Record<string, unknown>;

/** The member of an object in which the names of a list are kept, in their order. */
const ORDER = '[]';

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function namesOf(list: readonly Json[]): string[] | null {
  const names = list.map((each) =>
    isObject(each) && typeof each['name'] === 'string' ? each['name'] : null,
  );
  const isNamed = list.length > 0 && !names.includes(null) && new Set(names).size === list.length;
  return isNamed ? (names as string[]) : null;
}

/** The value with each list of named objects as an object with a member `[name]` for each of them. */
function keyed(value: Json): Json {
  if (Array.isArray(value)) {
    const names = namesOf(value);
    if (names === null) return value;
    return {
      ...Object.fromEntries(value.map((each, index) => [`[${names[index]}]`, keyed(each)])),
      [ORDER]: names,
    };
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, keyed(each)]));
}

function unkeyed(value: Json): Json {
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, each]): [string, Json] => [key, unkeyed(each)]);
  const order = value[ORDER];
  if (!Array.isArray(order)) return Object.fromEntries(members);
  const byName = new Map(members);
  return order.map((name) => byName.get(`[${name as string}]`) ?? null);
}

const hasOrder = (value: JsonObject): value is JsonObject & { [ORDER]: string[] } =>
  Array.isArray(value[ORDER]);

/** The names of a changed list in the default order. */
function defaultOrder(before: readonly string[], members: JsonObject): string[] {
  const there = Object.keys(members).flatMap((key) => (key === ORDER ? [] : [key.slice(1, -1)]));
  return [
    ...before.filter((name) => there.includes(name)),
    ...there.filter((name) => !before.includes(name)),
  ];
}

const isSame = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);
/** Part of a path; a key with a dot or a bracket is quoted. */
const step = (key: string): string =>
  key.startsWith('[') ? key : /[.[\]"]/.test(key) ? `.${JSON.stringify(key)}` : `.${key}`;

interface Collected {
  found: [path: string, value: Json][];
  /** Whether an added object is collected member by member, so that it can be added to another one. */
  byMember: boolean;
}

function collect(before: JsonObject, after: JsonObject, path: string, into: Collected): void {
  const { found, byMember } = into;
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (key === ORDER) continue;
    const is = after[key];
    const was = before[key] ?? (byMember ? emptyLike(is) : undefined);
    if (is === undefined) found.push([path + step(key), null]);
    else if (isObject(was) && isObject(is) && hasOrder(was) === hasOrder(is))
      collect(was, is, path + step(key), into);
    else if (!isSame(was, is)) found.push([path + step(key), unkeyed(is)]);
  }
  if (hasOrder(before) && hasOrder(after) && !isSame(defaultOrder(before[ORDER], after), after[ORDER]))
    found.push([path + ORDER, after[ORDER]]);
}

/** An object with members has an empty one of its kind; a list of named objects, too. */
function emptyLike(value: Json | undefined): JsonObject | undefined {
  if (!isObject(value) || Object.keys(value).length === 0) return undefined;
  return hasOrder(value) ? { [ORDER]: [] } : {};
}

/** The difference of `after` from `before`; with `byMember` each member of an added object has a path of its own. */
export function differenceBetween(before: object, after: object, byMember = false): Difference {
  const found: [string, Json][] = [];
  collect(keyed(before as Json) as JsonObject, keyed(after as Json) as JsonObject, '', { found, byMember });
  return Object.fromEntries(found.map(([path, value]) => [path.replace(/^\./, ''), value]));
}

/** `before` with the difference. Throws for a path through a value without members. */
export function withDifference(before: object, difference: Difference): unknown {
  const root = structuredClone(keyed(before as Json)) as JsonObject;
  for (const [path, value] of Object.entries(difference)) {
    const steps = [...path.matchAll(/(\[[^\]]*\])|\.?("(?:[^"\\]|\\.)*")|\.?([^.[\]"]+)/g)].map(
      ([, item, quoted, plain]) =>
        item ?? (quoted === undefined ? plain : (JSON.parse(quoted) as string)) ?? '',
    );
    const last = steps.pop() ?? '';
    let parent = root;
    for (const [index, key] of steps.entries()) {
      const following = steps[index + 1] ?? last;
      const isEmptyList = Array.isArray(parent[key]) && parent[key].length === 0;
      if (parent[key] === undefined || isEmptyList)
        parent[key] = following.startsWith('[') ? { [ORDER]: [] } : {};
      const next = parent[key];
      if (!isObject(next)) throw new Error(`${path}: ${key} has no members`);
      if (hasOrder(parent)) parent[ORDER] = defaultOrder(parent[ORDER], parent);
      parent = next;
    }
    if (value === null) delete parent[last];
    else parent[last] = keyed(value as Json);
    if (hasOrder(parent) && last !== ORDER) parent[ORDER] = defaultOrder(parent[ORDER], parent);
  }
  return unkeyed(root);
}
