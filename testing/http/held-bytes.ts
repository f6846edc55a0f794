import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects everything that nothing references any more. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** Bytes of the heap that the result of `make` keeps in memory. */
export function heldBytes(make: () => unknown): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const kept = [make()];
  collectGarbage();
  return kept.length && process.memoryUsage().heapUsed - before;
}
