import { isAgentRef } from '../../core/observation/agent-ref.ts';
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

/** The workload at the top of a pod's owner chain. */
export type WorkloadRef = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>;

export type OwnerResult =
  | { state: 'found'; workload: WorkloadRef }
  /** An owner is deleted or is being deleted, so its dependents will be deleted too. */
  | { state: 'deleting' };

export type WorkloadResult =
  | { state: 'found'; object: Workload }
  | { state: 'gone' }
  /** A kind that this process has no permission to read, such as the rollout kind of another project. */
  | { state: 'unreadable' };

/** The controllers that create pods themselves; Deployments and CronJobs create pods through these. */
export const POD_CONTROLLERS: readonly Resource<Workload>[] = [
  REPLICA_SETS,
  STATEFUL_SETS,
  DAEMON_SETS,
  JOBS,
];
const WORKLOADS: readonly Resource<Workload>[] = [DEPLOYMENTS, CRON_JOBS, ...POD_CONTROLLERS];
/** A chain longer than Pod, Job, CronJob and a custom kind above them is a loop. */
const LONGEST_CHAIN = 5;

/**
 * Reads owners from the API server and not from a cache: an object with an owner reference to a deleted uid is garbage
 * collected. Use one reader per reconcile.
 */
export function createOwnerReader(client: KubeClient) {
  const seen = new Map<string, Promise<WorkloadResult>>();

  function read(ref: Omit<WorkloadRef, 'uid'>, namespace: string): Promise<WorkloadResult> {
    const key = [ref.apiVersion, ref.kind, namespace, ref.name].join('/');
    const result = seen.get(key) ?? readWorkload(client, ref, namespace);
    seen.set(key, result);
    return result;
  }

  /** The owner of a controller; a controller without an owner is the result itself. */
  async function topOf(object: KubeObject, self: Omit<WorkloadRef, 'uid'>): Promise<OwnerResult> {
    const namespace = object.metadata.namespace ?? '';
    let top = refOf({ ...self, uid: object.metadata.uid ?? '' });
    let next = controllerOf(object);
    for (let length = 0; next && length < LONGEST_CHAIN; length += 1) {
      top = refOf(next);
      const result = await read(top, namespace);
      if (result.state === 'unreadable') break;
      if (result.state === 'gone') return { state: 'deleting' };
      const { uid, deletionTimestamp } = result.object.metadata;
      if (uid !== top.uid || deletionTimestamp) return { state: 'deleting' };
      next = controllerOf(result.object);
    }
    return { state: 'found', workload: top };
  }

  return { ownerOf: (pod: KubeObject) => topOf(pod, refOfPod(pod)), topOf, read };
}

export type OwnerReader = ReturnType<typeof createOwnerReader>;

async function readWorkload(
  client: KubeClient,
  ref: Omit<WorkloadRef, 'uid'>,
  namespace: string,
): Promise<WorkloadResult> {
  // The path of a name with a slash would be a subresource, for which this process has no permission.
  if (!isAgentRef(ref)) return { state: 'gone' };
  const resource = [...WORKLOADS, PODS as Resource<Workload>].find(
    (each) => each.kind === ref.kind && apiVersionOf(each) === ref.apiVersion,
  );
  if (!resource) return { state: 'unreadable' };
  const object = await getObject(client, resource, { namespace, name: ref.name });
  return object ? { state: 'found', object } : { state: 'gone' };
}

const refOf = ({ apiVersion, kind, name, uid }: WorkloadRef): WorkloadRef => ({
  apiVersion,
  kind,
  name,
  uid,
});

export function refOfPod({ metadata: { name, uid = '' } }: KubeObject): WorkloadRef {
  return { apiVersion: 'v1', kind: 'Pod', name, uid };
}

/** An owner that cannot exist is ignored: no AgentObservation could refer to it. */
function controllerOf(object: KubeObject): OwnerReference | undefined {
  const controller = object.metadata.ownerReferences?.find((reference) => reference.controller === true);
  return controller && isAgentRef(controller) ? controller : undefined;
}
