import { isRecord } from '../untrusted/fields.ts';

/** One operation of RFC 6902. */
export type PatchOperation =
  | { op: 'add'; path: string; value: unknown }
  | { op: 'replace'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/**
 * The JSON Patch that turns `before` into `after`, both JSON values; empty when they are equal. Objects that both values
 * share by reference are not compared.
 */
export function patchBetween(before: unknown, after: unknown): PatchOperation[] {
  const operations: PatchOperation[] = [];
  patchValue(before, after, '', operations);
  return operations;
}

type JsonObject = Readonly<Record<string, unknown>>;

function patchValue(before: unknown, after: unknown, path: string, operations: PatchOperation[]): void {
  if (Object.is(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) patchLists(before, after, path, operations);
  else if (isRecord(before) && isRecord(after)) patchObjects(before, after, path, operations);
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
 * Equal elements at both ends are kept. The elements between them are patched in place as far as both lists have them;
 * the rest is removed from the back or added in order. Thus a sidecar inserted at the front is one operation.
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

/** The differing parts of two lists, without the equal items at both ends. */
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

/** Equality of JSON values, independent of the order of keys. Stops at the first difference. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
  );
}

function at(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
