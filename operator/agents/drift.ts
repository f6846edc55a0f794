import { DRIFT_SUMMARIES, driftOf, optsIn, type Installed } from '../../core/injection/drift.ts';
import { parseInjected } from '../../core/injection/injected.ts';
import { CA_ANNOTATION } from '../../core/injection/names.ts';
import type { Drift, DriftReason } from '../../core/shapes/drift.ts';
import type { Pod } from '../../kube/types.ts';
import type { KnownCas } from '../../runtime/known-cas.ts';
import { hasSidecar } from './agent-pods.ts';

const REASONS = Object.keys(DRIFT_SUMMARIES) as DriftReason[];

/** The pods that the current installation would inject differently, grouped by reason, in the order of DRIFT_SUMMARIES. */
export function driftIn(
  pods: readonly Pod[],
  installed: Installed | null,
  knownCas: Pick<KnownCas, 'has'> | null = null,
): Drift[] {
  const byReason = Map.groupBy(pods, ({ metadata: { annotations = {} }, spec }) => {
    const injected = parseInjected({ annotations });
    const hasKnownCa = knownCas?.has(annotations[CA_ANNOTATION] ?? '') ?? null;
    const facts = { optedIn: optsIn(annotations), hasSidecar: hasSidecar(spec), hasKnownCa, injected };
    return driftOf(facts, installed);
  });
  return REASONS.flatMap((reason) => {
    const names = (byReason.get(reason) ?? []).map(({ metadata }) => metadata.name);
    const [example, ...others] = names.sort();
    return example === undefined ? [] : [{ reason, pods: others.length + 1, example }];
  });
}
