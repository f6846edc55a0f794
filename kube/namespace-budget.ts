import { getHeapStatistics } from 'node:v8';
import type { ObjectKey } from './resources.ts';

/** A part of this process's heap, in bytes. */
export const partOfHeap = (part: number): number => Math.floor(getHeapStatistics().heap_size_limit * part);

/** Bounds the memory of the cached objects of each namespace, so that no namespace can end this process. */
export class NamespaceBudget {
  readonly #maxBytes: number;
  readonly #onFull: (namespace: string) => void;
  readonly #bytes = new Map<string, number>();
  readonly #full = new Set<string>();

  /** `onFull` is called when the first object of a namespace is not admitted. */
  constructor(maxBytes: number, onFull: (namespace: string) => void) {
    this.#maxBytes = maxBytes;
    this.#onFull = onFull;
  }

  /** Counts the object if its namespace has room for it; false: it must not be cached. */
  admits(object: { metadata: ObjectKey }): boolean {
    const { namespace = '' } = object.metadata;
    const bytes = (this.#bytes.get(namespace) ?? 0) + heapBytesOf(object);
    if (bytes <= this.#maxBytes) {
      this.#bytes.set(namespace, bytes);
      return true;
    }
    if (!this.#full.has(namespace)) this.#onFull(namespace);
    this.#full.add(namespace);
    return false;
  }

  /** The object has left the cache. */
  release(object: { metadata: ObjectKey }): void {
    const { namespace = '' } = object.metadata;
    const bytes = (this.#bytes.get(namespace) ?? 0) - heapBytesOf(object);
    if (bytes > 0) this.#bytes.set(namespace, bytes);
    else this.#bytes.delete(namespace);
  }

  /** The namespaces of which an object was not admitted. */
  get full(): ReadonlySet<string> {
    return this.#full;
  }
}

/** Members with free names. Their objects share no layout, so each entry takes memory for its name and its place. */
const MAPS: ReadonlySet<string> = new Set(['labels', 'annotations', 'selector']);
const ENTRY_BYTES = 100;

/** About the memory of a value that JSON.parse returned. */
export function heapBytesOf(value: unknown, isMap = false): number {
  // One character outside Latin-1 doubles the size of a string.
  if (typeof value === 'string') return 16 + value.length * (/[^\0-\xff]/.test(value) ? 2 : 1);
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = 24;
  for (const [name, member] of Object.entries(value))
    bytes += (isMap ? ENTRY_BYTES + name.length : 8) + heapBytesOf(member, MAPS.has(name));
  return bytes;
}
