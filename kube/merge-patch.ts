import { isRecord } from '../core/untrusted/fields.ts';

/** The JSON merge patch (RFC 7386) that turns `from` into `to`, or null when they are equal. */
export function mergePatchOf(from: unknown, to: unknown): Record<string, unknown> | null {
  const patch: Record<string, unknown> = {};
  const before = isRecord(from) ? from : {};
  const after = isRecord(to) ? to : {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, value] = [before[key], after[key]];
    if (value === undefined) {
      if (old !== undefined) patch[key] = null;
    } else if (isRecord(old) && isRecord(value)) {
      const inner = mergePatchOf(old, value);
      if (inner) patch[key] = inner;
    } else if (!sameJson(old, value)) {
      patch[key] = value;
    }
  }
  return Object.keys(patch).length > 0 ? patch : null;
}

/** Equal as JSON: an undefined member counts as absent, and the order of members does not matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  // A computed status shares most of its parts with the status before it.
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  if (isRecord(a) && isRecord(b))
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => sameJson(a[key], b[key]));
  return false;
}
