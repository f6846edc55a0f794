import { always, type ConditionTable } from '../../core/observation/condition-table.ts';
import type { Pod } from '../../kube/types.ts';
import { hasStarted, isOutOfMemory } from './sidecar-state.ts';

export const MISFIT_REASONS: readonly string[] = ['QuotaExceeded', 'OutsideLimitRange'];

/** Why the API server creates no pod with the sidecar: its words. */
export interface Misfit {
  reason: 'QuotaExceeded' | 'OutsideLimitRange';
  message: string;
}

export interface FitState {
  pods: readonly Pod[];
  /** null: the API server has not refused a pod for its resources. */
  misfit: Misfit | null;
}

/** The reason with its own Event. */
export const OUT_OF_MEMORY = 'OutOfMemory';

const refused = (reason: Misfit['reason'], when: string, remedy: string) => ({
  status: 'False' as const,
  reason,
  when,
  holds: ({ misfit }: FitState) => misfit?.reason === reason,
  message: ({ misfit }: FitState) =>
    `a pod with the sidecar is refused: ${misfit?.message ?? ''}; ${remedy}, or set the annotations platform.io/sidecar-{cpu,memory}-{request,limit}`,
});

/** Whether the resources of the sidecar fit its namespace and its load. */
export const SIDECAR_FITS: ConditionTable<FitState> = {
  type: 'SidecarFits',
  meaning: 'the sidecar runs with its resources, and no quota or LimitRange refuses a pod',
  rows: [
    refused(
      'QuotaExceeded',
      'pods are missing because a ResourceQuota of the namespace refuses them; the message contains the text of the API server',
      'increase the quota',
    ),
    refused(
      'OutsideLimitRange',
      'pods are missing because a LimitRange of the namespace refuses them; the message contains the text of the API server',
      'change the LimitRange',
    ),
    {
      status: 'False',
      reason: OUT_OF_MEMORY,
      when: 'the sidecar of a live pod was killed because of its memory limit; until the pod is replaced',
      holds: ({ pods }) => pods.some(isOutOfMemory),
      message: ({ pods }) =>
        `the sidecar was killed in ${pods.filter(isOutOfMemory).length} of ${pods.length} pods because it exceeded its memory limit; set a larger platform.io/sidecar-memory-limit and restart the workload`,
    },
    {
      status: 'True',
      reason: 'SidecarFits',
      when: 'the sidecar of at least one live pod has started, and none of the above',
      holds: ({ pods }) => pods.some(hasStarted),
      message: () => 'the sidecar runs with its resources',
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
