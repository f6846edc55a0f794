import {
  DRIFT_SUMMARIES,
  driftOf,
  optsIn,
  type DriftReason,
  type Installed,
} from '../../core/injection/drift.ts';
import { parseInjected } from '../../core/injection/injected.ts';
import type { Drift } from '../../core/observation/observation.ts';
import type { Pod } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';

const REASONS = Object.keys(DRIFT_SUMMARIES) as DriftReason[];

/** The pods that the current installation would inject differently, grouped by reason, in the order of DRIFT_SUMMARIES. */
export function driftIn(pods: readonly Pod[], installed: Installed | null): Drift[] {
  const names = new Map<DriftReason, string[]>();
  for (const pod of pods) {
    const { annotations = {} } = pod.metadata;
    const injected = parseInjected({ annotations });
    const reason = driftOf(
      { optedIn: optsIn(annotations), hasSidecar: hasSidecar(pod.spec), injected },
      installed,
    );
    if (reason !== null) names.set(reason, [...(names.get(reason) ?? []), pod.metadata.name]);
  }
  return REASONS.flatMap((reason) => {
    const [example, ...others] = (names.get(reason) ?? []).sort();
    return example === undefined ? [] : [{ reason, pods: others.length + 1, example }];
  });
}
