import { agentNameOf } from '../../core/injection/agent-name.ts';
import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import { optsIn } from '../../core/injection/drift.ts';
import { AGENT_LABEL } from '../../core/injection/names.ts';
import type { Activity } from '../../core/observation/activity.ts';
import type { PodTemplate, Workload } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';

/**
 * Distinguishes workloads that need no live pod from workloads that should have one.
 *
 * | Workload without live pods | Activity |
 * |---|---|
 * | Deployment, ReplicaSet, StatefulSet with 0 replicas | scaled-to-zero |
 * | DaemonSet without a matching node | scaled-to-zero |
 * | CronJob: between two runs, or suspended | idle |
 * | Job that is complete, failed or suspended | idle |
 * | Pod that has ended (checked by the caller) | idle |
 * | all others | running: pods should exist |
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

/** Complete or failed. */
export function hasJobEnded(job: Workload): boolean {
  const ends = job.status?.conditions?.filter((each) => each.type === 'Complete' || each.type === 'Failed');
  return ends?.some((each) => each.status === 'True') ?? false;
}

/** Whether pods of this workload have a sidecar, either by opting in or in the template itself. */
export function wantsSidecar(workload: Workload): boolean {
  const template = templateOf(workload);
  // A bare pod has no template that could have changed.
  if (!template) return true;
  return optsIn(template.metadata?.annotations ?? {}) || hasSidecar(template.spec);
}

/**
 * The agent name of the pods that this workload creates. Null if there is none: a bare Pod has no template, and pods with
 * an invalid agent name are rejected.
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
