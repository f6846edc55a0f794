import { ANNOTATIONS } from './annotations.ts';
import type { Injected } from './injected.ts';

/** Every way in which a live pod differs from what the present installation would make of it; the pages are generated from it. */
export const DRIFT_SUMMARIES = {
  'sidecar-missing':
    'the pod opts in and has no sidecar: it was admitted while the injector was away or not installed yet',
  'not-opted-in':
    'the pod has the agent label but neither a sidecar nor `platform.io/inject: "true"`: the injector lets it through as it is',
  'record-missing':
    'the sidecar stands without the annotation `platform.io/injected`: what made it, and from which settings, is not known',
  'version-outdated': 'another version of the product injected the sidecar',
  'configuration-outdated': 'the same version injected it, but with other settings',
} as const;

export type DriftReason = keyof typeof DRIFT_SUMMARIES;

/** What the present installation writes into `platform.io/injected`. */
export interface Installed {
  version: string;
  configHash: string;
}

/** What of a live pod says how it was made. */
export interface DriftingPod {
  /** By `optsIn`. */
  optedIn: boolean;
  hasSidecar: boolean;
  /** By `parseInjected`. */
  injected: Pick<Injected, 'version' | 'config'> | null;
}

/**
 * What is not as the present installation would make it, or null.
 *
 * | sidecar | `platform.io/inject` | `platform.io/injected` | reason |
 * |---|---|---|---|
 * | none | absent, `"false"` | | not-opted-in |
 * | none | anything else | | sidecar-missing |
 * | present | absent, `"false"` | | none: it is not the injector's |
 * | present | anything else | none | record-missing |
 * | present | anything else | of another version | version-outdated |
 * | present | anything else | of other settings | configuration-outdated |
 *
 * @param installed null: not known here, so that nothing counts as outdated
 */
export function driftOf(
  { optedIn, hasSidecar, injected }: DriftingPod,
  installed: Installed | null,
): DriftReason | null {
  if (!optedIn) return hasSidecar ? null : 'not-opted-in';
  if (!hasSidecar) return 'sidecar-missing';
  if (injected === null) return 'record-missing';
  if (installed === null) return null;
  if (injected.version !== installed.version) return 'version-outdated';
  return injected.config === installed.configHash ? null : 'configuration-outdated';
}

/** Whether the pod asks for a sidecar; a value that is not allowed asks too, and is refused. */
export function optsIn(annotations: Readonly<Record<string, string>>): boolean {
  return (annotations[ANNOTATIONS.inject.name] ?? 'false') !== 'false';
}
