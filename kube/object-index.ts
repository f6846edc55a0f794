import type { Change } from './informer.ts';
import { keyText, type ObjectKey } from './resources.ts';

/**
 * Finds an informer's objects by a key other than their name, without a scan of all objects. `keyOf` returns null for an
 * object that the index does not need.
 */
export function createIndex<T extends { metadata: ObjectKey }>(keyOf: (object: T) => string | null) {
  const objects = new Map<string, Map<string, T>>();

  function drop(object: T): void {
    const key = keyOf(object);
    if (key === null) return;
    const under = objects.get(key);
    under?.delete(keyText(object.metadata));
    if (under?.size === 0) objects.delete(key);
  }

  return {
    /** Must be called with every change, before the change is passed to readers of the index. */
    changed(this: void, change: Change<T>): void {
      if (change.type !== 'added') drop(change.type === 'modified' ? change.before : change.object);
      const key = keyOf(change.object);
      if (change.type === 'deleted' || key === null) return;
      const under = objects.get(key) ?? new Map<string, T>();
      objects.set(key, under.set(keyText(change.object.metadata), change.object));
    },
    /** The objects under `key`. */
    at: (key: string): T[] => [...(objects.get(key)?.values() ?? [])],
  };
}

export type ObjectIndex<T extends { metadata: ObjectKey }> = ReturnType<typeof createIndex<T>>;
