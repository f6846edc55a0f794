import { isVerified } from '../../core/gap/gap.ts';
import { AGENT_LABEL } from '../../core/injection/names.ts';
import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { always, type ConditionTable } from '../../core/observation/condition-table.ts';
import { onOneLine } from '../../core/untrusted/on-one-line.ts';
import type { Pod } from '../../kube/types.ts';
import { awaitsVolumes, hasStarted, manifestProblemOf } from './sidecar-state.ts';

export interface ManifestState {
  pods: readonly Pod[];
  /** Why the kubelet cannot mount the manifest of a pod; null: unknown, or it can. */
  failedMountOf: (pod: Pod) => string | null;
  /** Why running sidecars do not use the changed manifest; null: they use it, or have not reported. */
  rejectedChange: string | null;
}

/** The text of the issue by which a running sidecar reports that it keeps the previous manifest. */
export function rejectedChangeIn(status: ObservationStatus | undefined): string | null {
  const found = status?.issues?.find((issue) => issue.property === 'manifest.invalid' && isVerified(issue));
  return found === undefined ? null : onOneLine(found.description);
}

/** The annotation of a running pod can be changed to any text. */
const configMapOf = ({ metadata: { annotations = {}, labels = {} } }: Pod): string =>
  onOneLine(annotations[ANNOTATIONS.manifestConfigMap.name] ?? `${labels[AGENT_LABEL] ?? ''}-manifest`, 253);

/** The first problem of a pod, with the ConfigMap of this pod; null: no pod has one. Without the pod's name, which changes. */
function firstOf(pods: readonly Pod[], problemOf: (pod: Pod) => string | null): string | null {
  const found = pods.flatMap((pod) => {
    const problem = problemOf(pod);
    return problem === null ? [] : [`ConfigMap ${configMapOf(pod)}: ${problem}`];
  });
  return found.sort()[0] ?? null;
}

const invalid = ({ pods }: ManifestState): string | null => firstOf(pods, manifestProblemOf);
const missing = ({ pods, failedMountOf }: ManifestState): string | null =>
  firstOf(pods, (pod) => (awaitsVolumes(pod) ? failedMountOf(pod) : null));

export const MANIFEST_VALID: ConditionTable<ManifestState> = {
  type: 'ManifestValid',
  meaning: 'a sidecar of the agent has started with the manifest in its ConfigMap',
  rows: [
    {
      status: 'False',
      reason: 'ManifestInvalid',
      when: 'the sidecar of a live pod ends because its manifest is invalid, or the ConfigMap has no key `agent.yaml`; the agent does not start. The message contains the problems',
      holds: (state) => invalid(state) !== null,
      message: (state) => invalid(state) ?? '',
    },
    {
      status: 'False',
      reason: 'ManifestMissing',
      when: 'a live pod waits for the ConfigMap of its manifest, which does not exist; the agent does not start',
      holds: (state) => missing(state) !== null,
      message: (state) =>
        `${missing(state) ?? ''}; create the ConfigMap with the manifest in the key agent.yaml, the pod then starts by itself`,
    },
    {
      status: 'False',
      reason: 'ChangeInvalid',
      when: 'the changed manifest is invalid, so running sidecars keep the previous one (issue `manifest.invalid`); a new pod would not start',
      holds: ({ rejectedChange }) => rejectedChange !== null,
      message: ({ rejectedChange }) => rejectedChange ?? '',
    },
    {
      status: 'True',
      reason: 'ManifestInForce',
      when: 'the sidecar of at least one live pod has started, and none of the above',
      holds: ({ pods }) => pods.some(hasStarted),
      message: () => 'the sidecar has started with the manifest',
    },
    {
      status: 'Unknown',
      reason: 'NotStarted',
      when: 'no sidecar has started yet',
      holds: always,
      message: () => 'no sidecar has started yet',
    },
  ],
};
