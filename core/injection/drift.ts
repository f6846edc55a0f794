import type { DriftReason } from '../shapes/drift.ts';
import { ANNOTATIONS } from './annotations.ts';
import type { Injected } from './injected.ts';

/**
 * Every way in which a live pod can differ from what the current installation would inject. The reference pages are
 * generated from this table.
 */
export const DRIFT_SUMMARIES: Readonly<Record<DriftReason, string>> = {
  'sidecar-missing':
    'the pod opts in but has no sidecar: it was admitted while the injector was unavailable or not yet installed',
  'not-opted-in':
    'the pod has the agent label but neither a sidecar nor `platform.io/inject: "true"`: the injector admits it unchanged',
  'ca-unknown':
    'the CA in `platform.io/ca` is not the CA of the control plane, which rejects the reports of the pod: the pod is older than the CA, or its author set the CA',
  'not-injected':
    'the pod has a sidecar but not `platform.io/inject: "true"`: its author added the sidecar, or removed the annotation later',
  'record-missing':
    'the pod has a sidecar but no annotation `platform.io/injected`: the version and settings of the injection are unknown',
  'version-outdated': 'another version of the product injected the sidecar',
  'configuration-outdated': 'the same version of the product injected the sidecar, but with other settings',
};

/** The values that the current installation writes into `platform.io/injected`. */
export interface Installed {
  version: string;
  configHash: string;
}

/** The properties of a live pod from which drift is computed. */
export interface DriftingPod {
  /** By `optsIn`. */
  optedIn: boolean;
  hasSidecar: boolean;
  /** Whether the pod trusts only CAs of the installation; absent, null: unknown. */
  hasKnownCa?: boolean | null;
  /** By `parseInjected`. */
  injected: Pick<Injected, 'version' | 'config'> | null;
}

/**
 * The reason why a live pod differs from what the current installation would inject, or null.
 *
 * | sidecar | `platform.io/inject` | `platform.io/injected` | reason |
 * |---|---|---|---|
 * | none | absent, `"false"` | | not-opted-in |
 * | none | anything else | | sidecar-missing |
 * | present, of an unknown CA | | | ca-unknown |
 * | present | absent, `"false"` | | not-injected |
 * | present | anything else | none | record-missing |
 * | present | anything else | of another version | version-outdated |
 * | present | anything else | of other settings | configuration-outdated |
 *
 * @param installed null: unknown, so no pod counts as outdated
 */
export function driftOf(
  { optedIn, hasSidecar, hasKnownCa, injected }: DriftingPod,
  installed: Installed | null,
): DriftReason | null {
  if (!hasSidecar) return optedIn ? 'sidecar-missing' : 'not-opted-in';
  if (hasKnownCa === false) return 'ca-unknown';
  if (!optedIn) return 'not-injected';
  if (injected === null) return 'record-missing';
  if (installed === null) return null;
  if (injected.version !== installed.version) return 'version-outdated';
  return injected.config === installed.configHash ? null : 'configuration-outdated';
}

/** Whether the pod requests a sidecar. An invalid value counts as a request too; the pod is then rejected. */
export function optsIn(annotations: Readonly<Record<string, string>>): boolean {
  return (annotations[ANNOTATIONS.inject.name] ?? 'false') !== 'false';
}
