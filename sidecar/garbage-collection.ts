import { setFlagsFromString } from 'node:v8';

/** Sets how V8 collects garbage in the sidecar. Call it before the first request. */
export function tuneGarbageCollection(): void {
  // By default V8 shares the few milliseconds of a scavenge among four more threads, which takes more processor time in total. With one
  // processor or less, as in most pods, the main thread waits for them, too.
  setFlagsFromString('--no-parallel-scavenge');
  // V8 forgets the shape of objects that no object had in two collections, and with it the compiled code that depends on the shape.
  // With the small heap of a pod that happened every few seconds under load, until V8 gave up and created such objects slowly. Only
  // shapes in compiled code are kept, so their number is limited. A collection that frees memory after the load still removes them.
  setFlagsFromString('--retain-maps-for-n-gc=1000000');
}
