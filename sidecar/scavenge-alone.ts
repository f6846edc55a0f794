import { setFlagsFromString } from 'node:v8';

/**
 * Collects the young generation in the main thread. By default V8 shares these few milliseconds of work among four more threads,
 * which takes more processor time in total. With one processor or less, as in most pods, the main thread waits for them, too.
 */
export function scavengeAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}
