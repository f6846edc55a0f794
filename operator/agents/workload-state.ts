import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import type { ObservationContext } from '../../core/observation/status-of.ts';
import type { Workload } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';

type Activity = Required<ObservationContext>['activity'];

/**
 * Why a workload has no live pod, where that is no alarm.
 *
 * | Workload without live pods | Activity |
 * |---|---|
 * | Deployment, ReplicaSet, StatefulSet with 0 replicas | scaled-to-zero |
 * | DaemonSet that no node is selected for | scaled-to-zero |
 * | CronJob: between two runs, or suspended | idle |
 * | Job that is complete, failed or suspended | idle |
 * | Pod, which the caller has seen to have ended | idle |
 * | anything else | running: pods should be there |
 */
export function activityOf(kind: string, workload: Workload): Activity {
  const { spec, status } = workload;
  switch (kind) {
    case 'CronJob':
    case 'Pod':
      return 'idle';
    case 'Job':
      return spec?.suspend === true || hasJobEnded(workload) ? 'idle' : 'running';
    case 'DaemonSet':
      return status?.desiredNumberScheduled === 0 ? 'scaled-to-zero' : 'running';
    default:
      return spec?.replicas === 0 ? 'scaled-to-zero' : 'running';
  }
}

function hasJobEnded(job: Workload): boolean {
  const ends = job.status?.conditions?.filter((each) => each.type === 'Complete' || each.type === 'Failed');
  return ends?.some((each) => each.status === 'True') ?? false;
}

/** Whether the pods that this workload would make have a sidecar: by opting in, or in the template itself. */
export function wantsSidecar(workload: Workload): boolean {
  const template = workload.spec?.template ?? workload.spec?.jobTemplate?.spec?.template;
  // A bare pod has no template: it is what it is.
  if (!template) return true;
  const inject = template.metadata?.annotations?.[ANNOTATIONS.inject.name];
  return (inject !== undefined && inject !== 'false') || hasSidecar(template.spec);
}
