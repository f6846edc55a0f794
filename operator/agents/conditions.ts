import type { Condition } from '../../core/observation/observation.ts';
import type { WorkloadRef } from './owner-chain.ts';
import { hasSidecar } from './agent-pods.ts';
import { routed, type Verdict } from './routing.ts';
import type { Pod, Service } from '../../kube/types.ts';

/** The conditions that this process alone writes, by server-side apply; an apply must always name all of them. */
export const OWN_CONDITIONS = ['Injected', 'Routed', 'Conflict'] as const;

/** What is seen of one agent while it has live pods. */
export interface Sighting {
  /** Live pods that carry the agent's label; at least one of them has a sidecar. */
  pods: readonly Pod[];
  /** The workloads that these pods belong to; the first one is the agent's. */
  workloads: readonly WorkloadRef[];
  /** Services of the namespace. */
  services: readonly Service[];
}

/** The conditions as they should be; `lastTransitionTime` moves only where the status does. */
export function ownConditions(sighting: Sighting, known: readonly Condition[], at: Date): Condition[] {
  const verdicts: Record<(typeof OWN_CONDITIONS)[number], Verdict> = {
    Injected: injected(sighting),
    Routed: routed(sighting.pods, sighting.services),
    Conflict: conflict(sighting),
  };
  return OWN_CONDITIONS.map((type) => {
    const before = known.find((condition) => condition.type === type);
    const moved = before?.status !== verdicts[type].status;
    const lastTransitionTime = moved ? `${at.toISOString().slice(0, 19)}Z` : before.lastTransitionTime;
    return { type, ...verdicts[type], lastTransitionTime };
  });
}

function injected({ pods }: Sighting): Verdict {
  const bare = pods.filter((pod) => !hasSidecar(pod.spec));
  const [first] = bare;
  if (first === undefined)
    return { status: 'True', reason: 'SidecarPresent', message: 'every pod has the sidecar' };
  const message = `${bare.length} of ${pods.length} pods run without the sidecar, such as ${first.metadata.name}`;
  return { status: 'False', reason: 'SidecarMissing', message };
}

function conflict({ workloads }: Sighting): Verdict {
  if (workloads.length < 2)
    return { status: 'False', reason: 'OneWorkload', message: 'one workload has this agent name' };
  const names = workloads.map(({ kind, name }) => `${kind} ${name}`).join(', ');
  return {
    status: 'True',
    reason: 'NameClaimedTwice',
    message: `${names} claim this agent name; give each its own with the annotation platform.io/agent-name`,
  };
}
