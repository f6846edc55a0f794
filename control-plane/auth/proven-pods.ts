import type { Clock } from '../../runtime/clock.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';

/** Longer than one hour, the lifetime of an injected pod's token. */
const PROVEN_MS = 2 * 3600_000;
const MAX_PODS = 10_000;

/** UIDs of pods that recently had a valid token. The next token of such a pod, from kubelet rotation, is probably valid. */
export interface ProvenPods {
  add(uid: string): void;
  has(uid: string): boolean;
}

export function createProvenPods(clock: Clock): ProvenPods {
  /** Time of the last valid token by UID, oldest first. */
  const times = new Map<string, number>();
  return {
    add: (uid) => setNewest(times, [uid, clock.monotonicMs()], MAX_PODS),
    has(uid) {
      const at = times.get(uid);
      return at !== undefined && clock.monotonicMs() - at < PROVEN_MS;
    },
  };
}
