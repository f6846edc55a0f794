/** One operation of RFC 6902. */
export type PatchOperation =
  | { op: 'add'; path: string; value: unknown }
  | { op: 'replace'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/**
 * The JSON Patch that makes `after` of `before`; empty when they are equal. Both are JSON values. What they share, the same
 * object in both, costs nothing.
 */
export function patchBetween(before: unknown, after: unknown): PatchOperation[] {
  const operations: PatchOperation[] = [];
  patchValue(before, after, '', operations);
  return operations;
}

type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function patchValue(before: unknown, after: unknown, path: string, operations: PatchOperation[]): void {
  if (Object.is(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) patchLists(before, after, path, operations);
  else if (isObject(before) && isObject(after)) patchObjects(before, after, path, operations);
  else operations.push({ op: 'replace', path, value: after });
}

function patchObjects(
  before: JsonObject,
  after: JsonObject,
  path: string,
  operations: PatchOperation[],
): void {
  for (const key of Object.keys(before))
    if (!Object.hasOwn(after, key)) operations.push({ op: 'remove', path: at(path, key) });
  for (const key of Object.keys(after)) {
    const value = after[key];
    if (!Object.hasOwn(before, key)) operations.push({ op: 'add', path: at(path, key), value });
    else if (!Object.is(before[key], value)) patchValue(before[key], value, at(path, key), operations);
  }
}

/**
 * Equal elements at both ends stay untouched; of what is left between them, as many as both lists have are patched
 * in place, the rest is removed from the back or added in order. A sidecar put in front is one operation so.
 */
function patchLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  operations: PatchOperation[],
): void {
  const { start, old, now } = commonEnds(before, after);
  const shared = Math.min(old.length, now.length);
  for (let index = 0; index < shared; index += 1)
    patchValue(old[index], now[index], at(path, start + index), operations);
  for (let index = old.length - 1; index >= shared; index -= 1)
    operations.push({ op: 'remove', path: at(path, start + index) });
  for (let index = shared; index < now.length; index += 1)
    operations.push({ op: 'add', path: at(path, start + index), value: now[index] });
}

/** What two lists do not share: equal items at both ends are left out. */
export function commonEnds(
  before: readonly unknown[],
  after: readonly unknown[],
): { start: number; old: readonly unknown[]; now: readonly unknown[] } {
  let start = 0;
  while (start < before.length && start < after.length && isEqual(before[start], after[start])) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    isEqual(before[before.length - 1 - end], after[after.length - 1 - end])
  )
    end += 1;
  return {
    start,
    old: before.slice(start, before.length - end),
    now: after.slice(start, after.length - end),
  };
}

/** Equality of JSON values; the order of keys says nothing. Ends at the first difference. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
  );
}

function at(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
