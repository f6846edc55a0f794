import type { PatchOperation } from '../../core/injection/patch.ts';

/** Applies an RFC 6902 patch (add, replace, remove) as the API server does for a webhook. */
export function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  return operations.reduce(applyOperation, structuredClone(document));
}

function applyOperation(document: unknown, operation: PatchOperation): unknown {
  const keys = operation.path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop();
  if (last === undefined) {
    if (operation.op === 'remove') throw new Error('the whole document cannot be removed');
    return structuredClone(operation.value);
  }
  let target: unknown = document;
  for (const key of keys) target = member(target, key, operation.path);
  if (Array.isArray(target)) changeList(target, last, operation);
  else changeObject(target, last, operation);
  return document;
}

function member(target: unknown, key: string, path: string): unknown {
  if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key))
    throw new Error(`${path}: no ${key}`);
  return (target as Record<string, unknown>)[key];
}

function changeList(list: unknown[], key: string, operation: PatchOperation): void {
  const index = key === '-' ? list.length : Number(key);
  if (operation.op === 'add' && index <= list.length) list.splice(index, 0, structuredClone(operation.value));
  else if (operation.op === 'replace' && index < list.length) list[index] = structuredClone(operation.value);
  else if (operation.op === 'remove' && index < list.length) list.splice(index, 1);
  else throw new Error(`${operation.op} ${operation.path}: the list has ${list.length} elements`);
}

function changeObject(target: unknown, key: string, operation: PatchOperation): void {
  if (typeof target !== 'object' || target === null) throw new Error(`${operation.path}: no object`);
  if (operation.op !== 'add' && !Object.hasOwn(target, key)) throw new Error(`${operation.path}: no ${key}`);
  if (operation.op === 'remove') delete (target as Record<string, unknown>)[key];
  else
    Object.defineProperty(target, key, {
      value: structuredClone(operation.value),
      writable: true,
      enumerable: true,
      configurable: true,
    });
}
