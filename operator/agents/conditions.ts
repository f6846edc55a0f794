import type { Installed } from '../../core/injection/drift.ts';
import type { Condition } from '../../core/observation/observation.ts';
import { always, conditionAt, verdictOf, type ConditionTable } from '../../core/observation/verdict.ts';
import type { Pod, Service } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';
import { driftIn } from './drift.ts';
import type { WorkloadRef } from './owner-chain.ts';
import { ROUTED } from './routing.ts';

/** The state of one agent with live pods. */
export interface AgentState {
  /** Live pods of the agent; at least one of them has a sidecar, or should have it. */
  pods: readonly Pod[];
  /** The workloads that these pods belong to; the first workload is the agent's. */
  workloads: readonly WorkloadRef[];
  /** Services of the namespace. */
  services: readonly Service[];
  /** What newly created pods get; null: unknown to this process. */
  installed: Installed | null;
}

const bare = (pods: readonly Pod[]): string[] =>
  pods
    .filter((pod) => !hasSidecar(pod.spec))
    .map((pod) => pod.metadata.name)
    .sort();

/** A restart does not help for a pod that does not opt in. */
const remedyOf = (pods: readonly Pod[]): string =>
  driftIn(pods, null).some(({ reason }) => reason === 'sidecar-missing')
    ? 'restart the workload'
    : 'the pods have the label platform.io/agent but do not opt in; opt in or remove the label';

const outdated = ({ pods, installed }: AgentState): { pods: number; example: string } => {
  const drift = driftIn(pods, installed).filter(({ reason }) => reason.endsWith('-outdated'));
  return { pods: drift.reduce((sum, each) => sum + each.pods, 0), example: drift[0]?.example ?? '' };
};

export const INJECTED: ConditionTable<AgentState> = {
  type: 'Injected',
  meaning: 'every live pod has the sidecar',
  rows: [
    {
      status: 'False',
      reason: 'SidecarMissing',
      when: 'a live pod has no sidecar; `status.drift` contains the reason',
      holds: ({ pods }) => bare(pods).length > 0,
      message: ({ pods }) =>
        `${bare(pods).length} of ${pods.length} pods run without the sidecar, such as ${bare(pods)[0]}; ${remedyOf(pods)}`,
    },
    {
      status: 'True',
      reason: 'SidecarOutdated',
      when: 'every live pod has the sidecar, but some sidecars have another version or other settings than the installation',
      holds: (agentState) => outdated(agentState).pods > 0,
      message: (agentState) => {
        const { pods, example } = outdated(agentState);
        return `${pods} of ${agentState.pods.length} pods have a sidecar with another version or other settings, such as ${example}; restart the workload`;
      },
    },
    {
      status: 'True',
      reason: 'SidecarPresent',
      when: 'every live pod has the current sidecar',
      holds: always,
      message: () => 'every pod has the sidecar',
    },
  ],
};

const CONFLICT: ConditionTable<AgentState> = {
  type: 'Conflict',
  meaning: 'several workloads use this agent name',
  rows: [
    {
      status: 'True',
      reason: 'NameClaimedTwice',
      when: 'live pods of several workloads use the name; the message names the workloads, and the first one is observed',
      holds: ({ workloads }) => workloads.length > 1,
      message: ({ workloads }) => {
        const names = workloads.map(({ kind, name }) => `${kind} ${name}`).join(', ');
        return `${names} use the same agent name; set a different platform.io/agent-name annotation on each`;
      },
    },
    {
      status: 'False',
      reason: 'OneWorkload',
      when: 'all live pods belong to one workload',
      holds: always,
      message: () => 'one workload uses this agent name',
    },
  ],
};

/** The conditions that only this process writes, by server-side apply; an apply must always contain all of them. */
export const OPERATOR_CONDITIONS: readonly ConditionTable<AgentState>[] = [INJECTED, ROUTED, CONFLICT];

export const OWN_CONDITIONS = OPERATOR_CONDITIONS.map(({ type }) => type);

/** The desired conditions; `lastTransitionTime` changes only with the status. */
export function ownConditions(agentState: AgentState, known: readonly Condition[], at: Date): Condition[] {
  return OPERATOR_CONDITIONS.map((table) => conditionAt(table.type, verdictOf(table, agentState), known, at));
}
