import { commonEnds, type JsonObject } from './equal.ts';
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

function at(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
