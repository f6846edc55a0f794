import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of the heap that the result of `make` keeps in memory. */
export function heldBytes(make: () => unknown): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = [make()];
  collect();
  return kept.length && process.memoryUsage().heapUsed - before;
}
