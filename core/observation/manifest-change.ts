import type { Heartbeat } from '../shapes/heartbeat.ts';
import type { ManifestChange } from '../shapes/manifest-change.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import type { DriftSeverity } from '../shapes/values.ts';
import { cut } from '../untrusted/fields.ts';
import { present } from '../untrusted/present.ts';

/** What differs between two manifests. */
export interface ManifestDifference {
  severity: DriftSeverity;
  scoreChange: number;
  /** The heaviest first. */
  descriptions: readonly string[];
}

/** Compares the manifests with these hashes; undefined: they are not both known. */
export type CompareManifests = (from: string, to: string) => ManifestDifference | undefined;

const MAX_NAMED = 5;
/** The summary has at most 500 characters. */
const MAX_DESCRIPTION = 90;
const UNKNOWN = 'what changed is not known, because the control plane does not have both manifests';

/**
 * The last change of the manifest after a heartbeat of an instance. During a rollout, instances with the old and the new manifest report
 * in turn. So a manifest is newer only if no instance had it, or if no other instance has the newest one any more.
 * @param before the status before the heartbeat
 */
export function manifestChangeOf(
  before: ObservationStatus,
  { manifestHash: to }: Pick<Heartbeat, 'manifestHash'>,
  { instance, compare, at }: { instance: string; compare: CompareManifests | undefined; at: Date },
): ManifestChange | undefined {
  const { instances = [], unlisted = [], manifestChange: last, manifestHash, lastChecked } = before;
  // The manifest of a registration is compared with the first one that is reported.
  const from = last?.to ?? (lastChecked === undefined ? undefined : manifestHash);
  if (to === null || from === undefined || to === from) return last;
  // The manifests of unlisted instances are not stored.
  if (unlisted.some(({ name }) => name === instance)) return last;
  const isNew = !instances.some((each) => each.manifestHash === to);
  const isReplaced =
    unlisted.length === 0 && !instances.some((each) => each.name !== instance && each.manifestHash === from);
  if (!isNew && !isReplaced) return last;
  const difference = compare?.(from, to);
  const { severity, scoreChange } = difference ?? {};
  const summary = difference === undefined ? UNKNOWN : summaryOf(difference);
  return { at: at.toISOString(), from, to, ...present({ severity, scoreChange }), summary };
}

function summaryOf({ severity, scoreChange, descriptions }: ManifestDifference): string {
  if (descriptions.length === 0) return 'no declaration changed';
  const named = descriptions.slice(0, MAX_NAMED).map((each) => cut(each, MAX_DESCRIPTION));
  const more = descriptions.length - named.length;
  return `${severity}, ${scoreChange} points: ${[...named, ...(more > 0 ? [`${more} more`] : [])].join('; ')}`;
}
