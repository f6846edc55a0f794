import type { DriftReason } from '../../core/shapes/drift.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { Drift } from '../../core/shapes/drift.ts';
import { always, conditionAt, stateOf, type ConditionTable } from '../../core/observation/condition-table.ts';
import type { Pod, Service } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';
import { MISFIT_REASONS, SIDECAR_FITS, type FitState, type Misfit } from './fits-condition.ts';
import { MANIFEST_VALID, type ManifestState } from './manifest-condition.ts';
import type { WorkloadRef } from './owner-chain.ts';
import { firstOf, ROUTED } from './routing.ts';

/** The state of one agent with live pods. */
export interface AgentState extends ManifestState, FitState {
  /** Live pods of the agent; at least one of them has a sidecar, or should have it. */
  pods: readonly Pod[];
  /** The workloads that these pods belong to; the first workload is the agent's. */
  workloads: readonly WorkloadRef[];
  /** Services of the namespace. */
  services: readonly Service[];
  /** What `driftIn` finds in these pods. Once for all rows, because it reads a record of each pod. */
  drift: readonly Drift[];
}

const podsWithoutSidecar = (pods: readonly Pod[]): string[] =>
  pods
    .filter((pod) => !hasSidecar(pod.spec))
    .map((pod) => pod.metadata.name)
    .sort();

/** A restart does not help for a pod that does not opt in. */
const remedyOf = (drift: readonly Drift[]): string =>
  drift.some(({ reason }) => reason === 'sidecar-missing')
    ? 'restart the workload'
    : 'the pods have the label platform.io/agent but do not opt in; opt in or remove the label';

/** The pods with one of these reasons, for the message of a condition; empty: there are none. */
const drifted = ({ pods, drift }: AgentState, ...reasons: DriftReason[]): string => {
  const found = drift.filter(({ reason }) => reasons.includes(reason));
  const count = found.reduce((sum, each) => sum + each.pods, 0);
  const example = found[0]?.example ?? '';
  return count === 0 ? '' : `${count} of ${pods.length} pods, such as ${example},`;
};
const withUnknownCa = (agentState: AgentState) => drifted(agentState, 'ca-unknown');
const added = (agentState: AgentState) => drifted(agentState, 'not-injected', 'record-missing');
const outdated = (agentState: AgentState) =>
  drifted(agentState, 'version-outdated', 'configuration-outdated');

/** The reason of the condition and of its Event. */
export const CA_UNKNOWN = 'CaUnknown';

export const INJECTED: ConditionTable<AgentState> = {
  type: 'Injected',
  meaning: 'every live pod has the sidecar',
  rows: [
    {
      status: 'False',
      reason: 'SidecarMissing',
      when: 'a live pod has no sidecar; `status.drift` contains the reason',
      holds: ({ pods }) => podsWithoutSidecar(pods).length > 0,
      message: ({ pods, drift }) =>
        `${podsWithoutSidecar(pods).length} of ${pods.length} pods run without the sidecar, such as ${podsWithoutSidecar(pods)[0]}; ${remedyOf(drift)}`,
    },
    {
      status: 'False',
      reason: CA_UNKNOWN,
      when: 'a live pod trusts another CA than the CA of the control plane, which rejects its reports',
      holds: (agentState) => withUnknownCa(agentState) !== '',
      message: (agentState) =>
        `${withUnknownCa(agentState)} have another CA in the annotation platform.io/ca than the control plane, which rejects their reports; restart the workload`,
    },
    {
      status: 'True',
      reason: 'SidecarNotInjected',
      when: 'every live pod has the sidecar, but the injector did not add some sidecars, such as those of `platform inject`',
      holds: (agentState) => added(agentState) !== '',
      message: (agentState) =>
        `${added(agentState)} have a sidecar that the injector did not add; to let the injector add it, remove it from the manifest and set the annotation platform.io/inject`,
    },
    {
      status: 'True',
      reason: 'SidecarOutdated',
      when: 'every live pod has the sidecar, but some sidecars have another version or other settings than the installation',
      holds: (agentState) => outdated(agentState) !== '',
      message: (agentState) =>
        `${outdated(agentState)} have a sidecar with another version or other settings; restart the workload`,
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
      when: 'live pods of several workloads use the name; the message names up to 20 of them, and the first one is observed',
      holds: ({ workloads }) => workloads.length > 1,
      message: ({ workloads }) => {
        const names = firstOf(workloads.map(({ kind, name }) => `${kind} ${name}`));
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
export const OPERATOR_CONDITIONS: readonly ConditionTable<AgentState>[] = [
  INJECTED,
  ROUTED,
  CONFLICT,
  MANIFEST_VALID,
  SIDECAR_FITS,
];

export const OWN_CONDITIONS = OPERATOR_CONDITIONS.map(({ type }) => type);

/** The desired conditions; `lastTransitionTime` changes only with the status. */
export function ownConditions(agentState: AgentState, known: readonly Condition[], at: Date): Condition[] {
  return OPERATOR_CONDITIONS.map((table) => conditionAt(table.type, stateOf(table, agentState), known, at));
}

/** Without live pods the conditions keep their last values. Only `SidecarFits` says why the API server creates no pod, while it does not. */
export function idleConditions({ status }: AgentObservation, misfit: Misfit | null, at: Date): Condition[] {
  const known = status?.conditions?.filter(({ type }) => OWN_CONDITIONS.includes(type)) ?? [];
  const fits = stateOf(SIDECAR_FITS, { pods: [], misfit });
  const was = known.find(({ type }) => type === SIDECAR_FITS.type);
  if (misfit === null && !MISFIT_REASONS.includes(was?.reason ?? '')) return known;
  return [...known.filter((each) => each !== was), conditionAt(SIDECAR_FITS.type, fits, known, at)];
}
