import type { Clock } from '../../runtime/clock.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';

/** Longer than an hour, for which a token of the injector lives. */
const PROVEN_MS = 2 * 3600_000;
const MAX_PODS = 10_000;

/** Pods, by their uid, that had a good token lately: the next token of such a pod, which the kubelet rotates, is probably good. */
export interface ProvenPods {
  add(uid: string): void;
  has(uid: string): boolean;
}

export function createProvenPods(clock: Clock): ProvenPods {
  /** When each was last proven, the oldest first. */
  const times = new Map<string, number>();
  return {
    add: (uid) => setNewest(times, [uid, clock.monotonicMs()], MAX_PODS),
    has(uid) {
      const at = times.get(uid);
      return at !== undefined && clock.monotonicMs() - at < PROVEN_MS;
    },
  };
}
