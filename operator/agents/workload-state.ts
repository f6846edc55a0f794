import { agentNameOf } from '../../core/injection/agent-name.ts';
import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import { optsIn } from '../../core/injection/drift.ts';
import { AGENT_LABEL } from '../../core/injection/names.ts';
import type { Activity } from '../../core/observation/activity.ts';
import type { PodTemplate, Workload } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';

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
  const template = templateOf(workload);
  // A bare pod has no template: it is what it is.
  if (!template) return true;
  return optsIn(template.metadata?.annotations ?? {}) || hasSidecar(template.spec);
}

/**
 * The agent's name of the pods that this workload would make; null where that cannot be told: a bare Pod has no
 * template, and a name that no agent can have is refused.
 */
export function agentNameIn(kind: string, workload: Workload): string | null {
  const template = templateOf(workload);
  if (!template) return null;
  const { labels, annotations } = template.metadata ?? {};
  const label = labels?.[AGENT_LABEL];
  if (label !== undefined) return label;
  const { name } = workload.metadata;
  const owner = { kind, name, controller: true };
  const derived = agentNameOf(
    { ...(labels && { labels }), ownerReferences: [owner] },
    annotations?.[ANNOTATIONS.agentName.name],
  );
  return derived.ok ? derived.name : null;
}

function templateOf({ spec }: Workload): PodTemplate | undefined {
  return spec?.template ?? spec?.jobTemplate?.spec?.template;
}
