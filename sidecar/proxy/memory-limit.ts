import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** Node.js is started with half of the memory limit as its heap (`core/injection/build-sidecar.ts`). */
const MEMORY_PER_HEAP = 2;

/**
 * Bytes that this process may use: the limit of its cgroup (version 1 or 2), else the memory of the machine. The result is
 * lower if the heap limit is small.
 */
export function processMemoryLimitBytes(): number {
  // 0: no limit.
  const constrained = process.constrainedMemory() || Infinity;
  return Math.min(constrained, totalmem(), MEMORY_PER_HEAP * getHeapStatistics().heap_size_limit);
}
