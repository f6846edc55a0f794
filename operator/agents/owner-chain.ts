import { isAgentRef } from '../../core/observation/agent-ref.ts';
import { present } from '../../core/untrusted/present.ts';
import type { KubeClient } from '../../kube/client.ts';
import { keepPodMetadata } from '../../kube/kept-metadata.ts';
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
import { Semaphore } from '../../kube/semaphore.ts';
import type { KubeObject, OwnerReference, PodTemplate, Workload } from '../../kube/types.ts';
import { keepContainers } from './agent-pods.ts';

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
  // An agent with thousands of owners must not take all reads from other agents.
  const turns = new Semaphore(1);

  const read = (
    ref: Omit<WorkloadRef, 'uid'>,
    namespace: string,
    only?: 'metadata',
  ): Promise<WorkloadResult> => turns.run(() => readWorkload(client, ref, { namespace, only }));

  /** Reads and keeps only the metadata: the pods of one agent can have thousands of owners with megabytes each. */
  function readOwner(ref: WorkloadRef, namespace: string): Promise<WorkloadResult> {
    const key = [ref.apiVersion, ref.kind, namespace, ref.name].join('/');
    const result = seen.get(key) ?? read(ref, namespace, 'metadata');
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
      const result = await readOwner(top, namespace);
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
  { namespace, only }: { namespace: string; only: 'metadata' | undefined },
): Promise<WorkloadResult> {
  // The path of a name with a slash would be a subresource, for which this process has no permission.
  if (!isAgentRef(ref)) return { state: 'gone' };
  const resource = [...WORKLOADS, PODS as Resource<Workload>].find(
    (each) => each.kind === ref.kind && apiVersionOf(each) === ref.apiVersion,
  );
  if (!resource) return { state: 'unreadable' };
  return READS.run(async () => {
    const object = await getObject(client, resource, { namespace, name: ref.name, only });
    const keep = only === 'metadata' ? keepLinks : keepWorkload;
    return object ? { state: 'found', object: keep(object) } : { state: 'gone' };
  });
}

/** Concurrent reads of this process. A workload can have megabytes, and the pods of one agent can have as many owners as pods. */
const READS = new Semaphore(4);

/** Reduces a workload to what the walk up the owner chain reads. */
function keepLinks({ metadata }: Workload): Workload {
  const { name, uid, deletionTimestamp, ownerReferences } = keepPodMetadata(metadata);
  return { metadata: { name, ...present({ uid, deletionTimestamp, ownerReferences }) } };
}

/** Reduces a workload to the fields that this process reads. */
function keepWorkload({ metadata, spec, status }: Workload): Workload {
  const { template, jobTemplate, replicas, suspend, parallelism, completions } = spec ?? {};
  const numbers = present({ replicas, suspend, parallelism, completions });
  const kept = template && keepTemplate(template);
  const ofJobs = jobTemplate?.spec?.template && {
    spec: { template: keepTemplate(jobTemplate.spec.template) },
  };
  return {
    metadata: keepPodMetadata(metadata),
    spec: { ...numbers, ...present({ template: kept, jobTemplate: ofJobs }) },
    ...present({ status }),
  };
}

function keepTemplate({ metadata, spec }: PodTemplate): PodTemplate {
  const { labels, annotations } = keepPodMetadata({ name: '', ...metadata });
  return { metadata: present({ labels, annotations }), spec: keepContainers(spec) };
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

/** Longer than any uid of the API server. The chart's policy admits no longer ones in an AgentObservation. */
const MAX_UID = 63;

/** An owner that cannot exist is ignored: no AgentObservation could refer to it. */
function controllerOf(object: KubeObject): OwnerReference | undefined {
  const controller = object.metadata.ownerReferences?.find((reference) => reference.controller === true);
  return controller && isAgentRef(controller) && controller.uid.length <= MAX_UID ? controller : undefined;
}
