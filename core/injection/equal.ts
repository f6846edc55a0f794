import { isRecord } from '../untrusted/fields.ts';

/** A JSON object: members by name. */
export type JsonObject = Readonly<Record<string, unknown>>;

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
