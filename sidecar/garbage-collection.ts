import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';

/** Sets how V8 collects garbage in the sidecar. Call it before the first request. */
export function tuneGarbageCollection(): void {
  // By default V8 shares the few milliseconds of a scavenge among four more threads, which takes more processor time in total. With one
  // processor or less, as in most pods, the main thread waits for them, too.
  setFlagsFromString('--no-parallel-scavenge');
  // V8 allocates objects of a literal in the old generation once most of a first hundred survived a scavenge. That hundred often belongs to
  // requests in flight. Each such object keeps everything to which it refers until the next full collection (decision 102).
  setFlagsFromString('--no-allocation-site-pretenuring');
  process.nextTick(keepTick);
}

let kept: object | null = null;

/**
 * Keeps the object that Node.js creates for a tick. V8 forgets a shape that no object has during a collection, and with the small
 * heap of a pod there is one every second under load. It then creates each object of a literal with computed names, such as that of
 * process.nextTick, in a slow way for the rest of the process: 6 % of the processor time of a chat request (decision 102).
 */
function keepTick(): void {
  kept = executionAsyncResource();
}

/** Whether the object of a tick is kept. */
export const keepsTick = (): boolean => kept !== null;
