import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Part of the memory limit that buffers outside the heap may take before those without a use are freed. */
const PART = 1 / 10;
const INTERVAL_MS = 50;

/**
 * Frees the buffers of chunks that have passed. V8 collects by the size of its heap, where such a buffer is a hundred
 * bytes: measured under attack, 50 MiB of them waited for a collection, a quarter of the injected memory limit.
 */
export function collectBuffers(memoryBytes: number): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  const most = memoryBytes * PART;
  setInterval(() => {
    if (getHeapStatistics().external_memory > most) collect({ type: 'minor' });
  }, INTERVAL_MS).unref();
}
