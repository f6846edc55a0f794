import type { KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import {
  apiVersionOf,
  CRON_JOBS,
  DAEMON_SETS,
  DEPLOYMENTS,
  JOBS,
  PODS,
  REPLICA_SETS,
  STATEFUL_SETS,
  type Resource,
} from '../../kube/resources.ts';
import type { KubeObject, OwnerReference, Workload } from '../../kube/types.ts';

/** The workload at the end of a pod's owners. */
export interface WorkloadRef {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

export type OwnerAnswer =
  | { state: 'found'; workload: WorkloadRef }
  /** An owner is deleted, or is being deleted: what it owns will follow. */
  | { state: 'going' };

export type WorkloadAnswer =
  | { state: 'found'; object: Workload; uid: string }
  | { state: 'gone' }
  /** A kind that this process has no right to read, such as another project's rollout. */
  | { state: 'unreadable' };

/** The controllers that make pods themselves; Deployments and CronJobs leave it to these. */
export const POD_MAKERS: readonly Resource<Workload>[] = [REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS];
const WORKLOADS: readonly Resource<Workload>[] = [DEPLOYMENTS, CRON_JOBS, ...POD_MAKERS];
/** Longer chains than Pod, Job, CronJob and somebody's own kind above it are a loop. */
const LONGEST_CHAIN = 5;

/** Reads owners live, since an owner reference to a uid that is gone gets its object collected; one reader lives for one reconcile. */
export interface OwnerReader {
  ownerOf(pod: KubeObject): Promise<OwnerAnswer>;
  /** The same from a controller on, which is its own top when nobody owns it. */
  topOf(object: KubeObject, self: Omit<WorkloadRef, 'uid'>): Promise<OwnerAnswer>;
  read(ref: Omit<WorkloadRef, 'uid'>, namespace: string): Promise<WorkloadAnswer>;
}

export function createOwnerReader(client: KubeClient): OwnerReader {
  const seen = new Map<string, Promise<WorkloadAnswer>>();

  function read(ref: Omit<WorkloadRef, 'uid'>, namespace: string): Promise<WorkloadAnswer> {
    const key = [ref.apiVersion, ref.kind, namespace, ref.name].join('/');
    const answer = seen.get(key) ?? readWorkload(client, ref, namespace);
    seen.set(key, answer);
    return answer;
  }

  async function topOf(object: KubeObject, self: Omit<WorkloadRef, 'uid'>): Promise<OwnerAnswer> {
    const namespace = object.metadata.namespace ?? '';
    const { apiVersion, kind, name } = self;
    let top: WorkloadRef = { apiVersion, kind, name, uid: object.metadata.uid ?? '' };
    let next = controllerOf(object);
    for (let length = 0; next && length < LONGEST_CHAIN; length += 1) {
      const { apiVersion, kind, name, uid } = next;
      top = { apiVersion, kind, name, uid };
      const answer = await read(top, namespace);
      if (answer.state === 'unreadable') break;
      if (answer.state === 'gone' || answer.uid !== uid) return { state: 'going' };
      if (answer.object.metadata.deletionTimestamp) return { state: 'going' };
      next = controllerOf(answer.object);
    }
    return { state: 'found', workload: top };
  }

  const ownerOf = (pod: KubeObject): Promise<OwnerAnswer> =>
    topOf(pod, { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name });

  return { ownerOf, topOf, read };
}

async function readWorkload(
  client: KubeClient,
  ref: Omit<WorkloadRef, 'uid'>,
  namespace: string,
): Promise<WorkloadAnswer> {
  const resource = [...WORKLOADS, PODS as Resource<Workload>].find(
    (each) => each.kind === ref.kind && apiVersionOf(each) === ref.apiVersion,
  );
  if (!resource) return { state: 'unreadable' };
  const object = await getObject(client, resource, { namespace, name: ref.name });
  return object ? { state: 'found', object, uid: object.metadata.uid ?? '' } : { state: 'gone' };
}

function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}
