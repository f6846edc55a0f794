import type { Workload } from '../../kube/types.ts';
import { hasJobEnded } from '../agents/workload-state.ts';

/**
 * Whether a controller has fewer pods than desired.
 *
 * | Kind | lacks pods while |
 * |---|---|
 * | ReplicaSet, StatefulSet | `status.replicas` < `spec.replicas` (default 1) |
 * | DaemonSet | `currentNumberScheduled` < `desiredNumberScheduled` |
 * | Job that is not suspended, complete or failed | `active` < its parallelism and < its remaining completions |
 * | all others | never: they do not create pods themselves |
 */
export function lacksPods(kind: string, workload: Workload): boolean {
  const { spec = {}, status = {} } = workload;
  switch (kind) {
    case 'ReplicaSet':
    case 'StatefulSet':
      return (status.replicas ?? 0) < (spec.replicas ?? 1);
    case 'DaemonSet':
      return (status.currentNumberScheduled ?? 0) < (status.desiredNumberScheduled ?? 0);
    case 'Job': {
      if (hasJobEnded(workload) || spec.suspend === true) return false;
      const left = (spec.completions ?? Infinity) - (status.succeeded ?? 0);
      return (status.active ?? 0) < Math.min(spec.parallelism ?? 1, left);
    }
    default:
      return false;
  }
}
