import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Pod } from '../../kube/types.ts';
import type { Again } from '../../kube/work-queue.ts';
import { claimOf, SKIPPED_POD_SUMMARIES } from './claim.ts';
import { isLive } from './agent-pods.ts';
import { createOwnerReader, type WorkloadRef } from './owner-chain.ts';

export interface SkippedPodsContext {
  client: KubeClient;
  events: EventRecorder;
  excludedNamespaces: readonly string[];
  podAt(key: string): Pod | undefined;
}

const GOING_AGAIN_MS = 2_000;

/** Says on its workload why a pod that opts in gets neither a sidecar nor an AgentObservation; once for each workload and reason. */
export async function reportSkippedPods(context: SkippedPodsContext, key: string): Promise<Again | undefined> {
  const pod = context.podAt(key);
  if (pod === undefined || !isLive(pod)) return undefined;
  const claim = claimOf(pod, context.excludedNamespaces);
  if (claim?.kind !== 'skipped') return undefined;
  const { code } = claim;
  const { namespace = '' } = pod.metadata;
  // The owner of a mirror pod is its node, of which nobody here reads anything.
  const owner = code === 'mirror-pod' ? podItself(pod) : await workloadOf(context.client, pod);
  if (owner === null) return { againInMs: GOING_AGAIN_MS };
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

/** null: it is going, and the pod with it. */
async function workloadOf(client: KubeClient, pod: Pod): Promise<WorkloadRef | null> {
  const answer = await createOwnerReader(client).ownerOf(pod);
  return answer.state === 'found' ? answer.workload : null;
}

function podItself({ metadata: { name, uid = '' } }: Pod): WorkloadRef {
  return { apiVersion: 'v1', kind: 'Pod', name, uid };
}
