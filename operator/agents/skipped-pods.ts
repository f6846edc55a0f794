import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Pod } from '../../kube/types.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { claimOf, SKIPPED_POD_SUMMARIES } from './claim.ts';
import { isLive } from '../../kube/pods.ts';
import { createOwnerReader, type WorkloadRef } from './owner-chain.ts';

export interface SkippedPodsContext {
  client: KubeClient;
  events: EventRecorder;
  excludedNamespaces: readonly string[];
  podAt(key: string): Pod | undefined;
}

/** Retry delay while the owner of the pod is being deleted. */
const DELETING_RETRY_MS = 2_000;

/** Emits on the workload why an opted-in pod gets no sidecar and no AgentObservation; once per workload and reason. */
export async function reportSkippedPods(
  context: SkippedPodsContext,
  key: string,
): Promise<Requeue | undefined> {
  const pod = context.podAt(key);
  if (pod === undefined || !isLive(pod)) return undefined;
  const claim = claimOf(pod, context.excludedNamespaces);
  if (claim?.kind !== 'skipped') return undefined;
  const { code } = claim;
  const { namespace = '' } = pod.metadata;
  // The owner of a mirror pod is its node, which this process does not read.
  const owner = code === 'mirror-pod' ? podItself(pod) : await workloadOf(context.client, pod);
  if (owner === null) return { requeueAfterMs: DELETING_RETRY_MS };
  context.events.record({
    regarding: { ...owner, namespace },
    type: 'Warning',
    action: 'Inject',
    reason: 'InjectionSkipped',
    note: `no sidecar for pod ${pod.metadata.name} (${code}): ${SKIPPED_POD_SUMMARIES[code].replaceAll('`', '')}`,
    occurrence: code,
  });
  return undefined;
}

/** Returns null when the workload is being deleted, and the pod with it. */
async function workloadOf(client: KubeClient, pod: Pod): Promise<WorkloadRef | null> {
  const result = await createOwnerReader(client).ownerOf(pod);
  return result.state === 'found' ? result.workload : null;
}

function podItself({ metadata: { name, uid = '' } }: Pod): WorkloadRef {
  return { apiVersion: 'v1', kind: 'Pod', name, uid };
}
