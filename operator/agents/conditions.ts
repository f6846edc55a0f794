import type { Installed } from '../../core/injection/drift.ts';
import type { Condition } from '../../core/observation/observation.ts';
import { always, conditionAt, verdictOf, type ConditionTable } from '../../core/observation/verdict.ts';
import type { Pod, Service } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';
import { driftIn } from './drift.ts';
import type { WorkloadRef } from './owner-chain.ts';
import { ROUTED } from './routing.ts';

/** What is seen of one agent while it has live pods. */
export interface Sighting {
  /** Live pods of the agent; at least one of them has a sidecar, or should have it. */
  pods: readonly Pod[];
  /** The workloads that these pods belong to; the first one is the agent's. */
  workloads: readonly WorkloadRef[];
  /** Services of the namespace. */
  services: readonly Service[];
  /** What pods that are made now get; null: not known here. */
  installed: Installed | null;
}

const bare = (pods: readonly Pod[]): string[] =>
  pods
    .filter((pod) => !hasSidecar(pod.spec))
    .map((pod) => pod.metadata.name)
    .sort();

/** A pod that does not opt in comes back as it is. */
const remedyOf = (pods: readonly Pod[]): string =>
  driftIn(pods, null).some(({ reason }) => reason === 'sidecar-missing')
    ? 'restart the workload'
    : 'they have the label platform.io/agent and do not opt in: let them, or take it off';

const outdated = ({ pods, installed }: Sighting): { pods: number; example: string } => {
  const drift = driftIn(pods, installed).filter(({ reason }) => reason.endsWith('-outdated'));
  return { pods: drift.reduce((sum, each) => sum + each.pods, 0), example: drift[0]?.example ?? '' };
};

export const INJECTED: ConditionTable<Sighting> = {
  type: 'Injected',
  meaning: 'every live pod has the sidecar',
  rows: [
    {
      status: 'False',
      reason: 'SidecarMissing',
      when: 'a live pod has none; `status.drift` says why',
      holds: ({ pods }) => bare(pods).length > 0,
      message: ({ pods }) =>
        `${bare(pods).length} of ${pods.length} pods run without the sidecar, such as ${bare(pods)[0]}; ${remedyOf(pods)}`,
    },
    {
      status: 'True',
      reason: 'SidecarOutdated',
      when: 'every live pod has one, some of another version or of other settings than the present ones',
      holds: (sighting) => outdated(sighting).pods > 0,
      message: (sighting) => {
        const { pods, example } = outdated(sighting);
        return `${pods} of ${sighting.pods.length} pods have the sidecar of another version or of other settings, such as ${example}; restart the workload`;
      },
    },
    {
      status: 'True',
      reason: 'SidecarPresent',
      when: 'every live pod has it',
      holds: always,
      message: () => 'every pod has the sidecar',
    },
  ],
};

const CONFLICT: ConditionTable<Sighting> = {
  type: 'Conflict',
  meaning: 'several workloads claim this agent name',
  rows: [
    {
      status: 'True',
      reason: 'NameClaimedTwice',
      when: 'live pods of several workloads have it; the message names them, and the observation is of the first',
      holds: ({ workloads }) => workloads.length > 1,
      message: ({ workloads }) => {
        const names = workloads.map(({ kind, name }) => `${kind} ${name}`).join(', ');
        return `${names} claim this agent name; give each its own with the annotation platform.io/agent-name`;
      },
    },
    {
      status: 'False',
      reason: 'OneWorkload',
      when: 'all live pods are of one',
      holds: always,
      message: () => 'one workload has this agent name',
    },
  ],
};

/** The conditions that this process alone writes, by server-side apply; an apply must always name all of them. */
export const OPERATOR_CONDITIONS: readonly ConditionTable<Sighting>[] = [INJECTED, ROUTED, CONFLICT];

export const OWN_CONDITIONS = OPERATOR_CONDITIONS.map(({ type }) => type);

/** The conditions as they should be; `lastTransitionTime` moves only where the status does. */
export function ownConditions(sighting: Sighting, known: readonly Condition[], at: Date): Condition[] {
  return OPERATOR_CONDITIONS.map((table) => conditionAt(table.type, verdictOf(table, sighting), known, at));
}
