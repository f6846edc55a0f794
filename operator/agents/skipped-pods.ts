import type { Pod } from '../../kube/types.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { claimOf, SKIPPED_POD_SUMMARIES } from './claim.ts';
import { isLive } from '../../kube/pods.ts';
import { createOwnerReader, refOfPod, type OwnerResult } from './owner-chain.ts';
import { DELETING_RETRY_MS, type ReconcileContext } from './reconcile-agent.ts';

export interface SkippedPodsContext extends Pick<
  ReconcileContext,
  'client' | 'events' | 'excludedNamespaces'
> {
  podAt(key: string): Pod | undefined;
}

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
  const owner: OwnerResult =
    code === 'mirror-pod'
      ? { state: 'found', workload: refOfPod(pod) }
      : await createOwnerReader(context.client).ownerOf(pod);
  if (owner.state === 'deleting') return { requeueAfterMs: DELETING_RETRY_MS };
  context.events.record({
    regarding: { ...owner.workload, namespace },
    type: 'Warning',
    action: 'Inject',
    reason: 'InjectionSkipped',
    note: `no sidecar for pod ${pod.metadata.name} (${code}): ${SKIPPED_POD_SUMMARIES[code].replaceAll('`', '')}`,
    occurrence: code,
  });
  return undefined;
}
