import { ALLOWED } from './allowed.ts';
import { COMPLIANT } from './compliant.ts';
import { hasPolicyState, type ConditionInput, type ConditionRow } from './condition-input.ts';
import type { Condition } from '../shapes/condition.ts';
import { STOPPED } from './stopped.ts';
import type { Phase } from '../shapes/values.ts';
import { conditionAt, row, stateOf, type ConditionTable } from './condition-table.ts';

type Row = ConditionRow;

/** Latest heartbeat of all instances. `lastChecked` is only the heartbeat of the instance whose report is shown. */
const lastHeartbeatOf = ({ instances, lastChecked = '' }: ConditionInput): string =>
  instances.reduce((last, { lastHeartbeat }) => (lastHeartbeat > last ? lastHeartbeat : last), lastChecked);

const REPORTING: readonly Row[] = [
  row('True', 'HeartbeatReceived', {
    when: 'every instance sent a heartbeat within its stale time',
    holds: ({ live, instances }) => live.length > 0 && live.length === instances.length,
    message: () => 'all instances send heartbeats',
  }),
  row('True', 'SomeInstancesSilent', {
    when: 'only some instances sent a heartbeat within their stale time',
    holds: ({ live }) => live.length > 0,
    message: ({ live, instances, unlisted }) =>
      `${live.length + unlisted} of ${instances.length + unlisted} instances send heartbeats`,
  }),
  row('False', 'ScaledToZero', {
    when: 'no instance reports, because the workload is scaled to zero (no alarm, phase Pending)',
    holds: ({ activity }) => activity === 'scaled-to-zero',
    message: () => 'the workload is scaled to zero',
  }),
  row('False', 'Idle', {
    when: 'no instance reports, because the workload is between two CronJob runs, or its Job or Pod has ended (no alarm, phase Pending)',
    holds: ({ activity }) => activity === 'idle',
    message: () => 'the workload is between two runs or has ended',
  }),
  row('False', 'Stale', {
    when: 'no instance sent a heartbeat within its stale time (phase Unknown)',
    holds: ({ lastChecked, phase }) => lastChecked !== undefined && phase === 'Unknown',
    message: (input) => `no heartbeat since ${lastHeartbeatOf(input)}`,
  }),
  row('False', 'NeverReported', {
    when: 'a new agent sent no heartbeat within the stale time after its first pod started, or after its registration (phase Unknown)',
    holds: ({ phase }) => phase === 'Unknown',
    message: ({ awaitedSince }) => `no heartbeat has ever been received; expected since ${awaitedSince}`,
  }),
  row('Unknown', 'AwaitingFirstHeartbeat', {
    when: 'a new agent sent no heartbeat yet: no pod has started, or the stale time after the start is not over (phase Pending)',
    holds: ({ lastChecked }) => lastChecked === undefined,
    message: () => 'no heartbeat has been received yet',
  }),
  row('False', 'NoHeartbeat', {
    when: 'no heartbeat yet from new pods, within the stale time after the old pods were removed (phase Pending)',
    message: (input) => `no heartbeat since ${lastHeartbeatOf(input)}`,
  }),
];

/** Row of every condition that depends on reports: there are no reports. */
const UNREPORTED: Row = row('Unknown', 'NotReporting', {
  when: 'no instance reports',
  holds: ({ live }) => live.length === 0,
  message: (input) => stateOf({ type: 'Reporting', rows: REPORTING }, input).message,
});

const AGENT_REACHABLE: readonly Row[] = [
  row('False', 'AgentUnreachable', {
    when: "the sidecar of an instance gets no response from the agent's port",
    holds: ({ live }) => live.some((instance) => instance.agentReachable === false),
    message: ({ live, unlisted }) => {
      const count = live.filter((each) => each.agentReachable === false).length;
      const some = unlisted === 0 ? count : `at least ${count}`;
      return `the agent does not respond in ${some} of ${live.length + unlisted} instances`;
    },
  }),
  row('True', 'AgentReachable', {
    when: 'the agent responds in every instance that reports',
    holds: ({ live }) => live.every((instance) => instance.agentReachable === true),
    message: () => 'the agent responds',
  }),
  row('Unknown', 'AgentNotProbed', {
    when: 'a report does not contain a probe result of the agent',
    message: () => 'at least one report does not contain a probe result of the agent',
  }),
];

const MODEL_REACHABLE: readonly Row[] = [
  row('False', 'ModelUnreachable', {
    when: 'the model check fails in an instance',
    holds: ({ live }) => live.some((instance) => instance.modelStatus === 'fail'),
    message: () => "the model endpoint cannot be used with the agent's key",
  }),
  row('True', 'ModelReachable', {
    when: 'the model check passes in every instance that reports',
    holds: ({ live }) => live.every((instance) => instance.modelStatus === 'pass'),
    message: () => 'the model endpoint responds',
  }),
  row('Unknown', 'ModelNotChecked', {
    when: "an instance did not check the model; the check needs a reporter inside the agent, which has the model's API key",
    message: () =>
      "the model was not checked; the check needs a reporter inside the agent and the model's API key",
  }),
];

const POLICY_LOADED: readonly Row[] = [
  row('False', 'PolicyNotLoaded', {
    when: 'the policy engine of an instance responds, but has not loaded the rules of this agent',
    holds: hasPolicyState('not-loaded'),
    message: () => "the policy engine has not loaded this agent's rules",
  }),
  row('Unknown', 'EngineUnreachable', {
    when: 'the policy engine of an instance is unreachable',
    holds: hasPolicyState('unreachable'),
    message: () => 'the policy engine is unreachable',
  }),
  row('False', 'NoEngine', {
    when: 'an instance has no policy engine',
    holds: hasPolicyState('none'),
    message: () => 'no policy engine is configured',
  }),
  row('Unknown', 'NotReported', {
    when: 'a report does not contain the state of the policy engine',
    holds: hasPolicyState(undefined),
    message: () => 'at least one report does not contain the state of the policy engine',
  }),
  row('True', 'PolicyLoaded', {
    when: 'the policy engine of every instance that reports has loaded the rules',
    message: () => "the policy engine has loaded this agent's rules",
  }),
];

const healthy = (phase: Phase, when: string): Row =>
  row('True', phase, {
    when,
    holds: (input) => input.phase === phase,
    message: () => 'the agent reports, is reachable and has no failed check of severity error',
  });

const READY: readonly Row[] = [
  ...REPORTING.filter((row) => row.status !== 'True').map((row): Row => ({
    ...row,
    status: 'False',
    when: 'same as for Reporting',
    holds: (input) => input.live.length === 0 && row.holds(input),
  })),
  row('False', 'Unhealthy', {
    when: 'the phase is Unhealthy',
    holds: ({ phase }) => phase === 'Unhealthy',
    message: () => 'a check of severity error fails',
  }),
  ...AGENT_REACHABLE.filter((row) => row.status !== 'True').map((row): Row => ({
    ...row,
    when: 'same as for AgentReachable',
    holds: (input) => stateOf({ type: 'AgentReachable', rows: AGENT_REACHABLE }, input).reason === row.reason,
  })),
  healthy('Degraded', 'the phase is Degraded (a check of a lower severity fails)'),
  healthy('Healthy', 'the phase is Healthy'),
  row('Unknown', 'PhaseUnknown', {
    when: 'the agent reports again, but the phase is not updated yet',
    message: () => 'the phase is not known yet',
  }),
];

/** The conditions that every writer computes in the same way. The others are written only by the operator. */
export const CONDITIONS: readonly ConditionTable<ConditionInput>[] = [
  {
    type: 'Ready',
    meaning: 'the agent reports, has the phase Healthy or Degraded, and its port responds',
    rows: READY,
  },
  { type: 'Reporting', meaning: 'the agent sends heartbeats', rows: REPORTING },
  {
    type: 'AgentReachable',
    meaning: "the agent's port responds to the sidecar",
    rows: [UNREPORTED, ...AGENT_REACHABLE],
  },
  { type: 'ModelReachable', meaning: 'the model endpoint responds', rows: [UNREPORTED, ...MODEL_REACHABLE] },
  {
    type: 'PolicyLoaded',
    meaning: "the policy engine has loaded this agent's rules",
    rows: [UNREPORTED, ...POLICY_LOADED],
  },
  {
    type: 'Allowed',
    meaning: 'the agent breaks no Deny rule of the organisation',
    rows: [UNREPORTED, ...ALLOWED],
  },
  {
    type: 'Stopped',
    meaning: 'a person has stopped the agent (AgentStop, or the annotation `platform.io/stop` of its pods)',
    rows: STOPPED,
  },
  {
    type: 'Compliant',
    meaning:
      'no broken Deny rule of the organisation, grade A or B, no critical issue in the last 24 hours, no policy denial in the window, no invalid health report of the agent, no unreachable policy engine, no use of tools with a manifest that declares nothing about them, and evidence for at least half of the declared items',
    rows: [UNREPORTED, ...COMPLIANT],
  },
];

/** Computes the conditions at `at`. `lastTransitionTime` changes only with the status. Other known conditions are kept. */
export function conditionsOf(
  known: readonly Condition[],
  input: ConditionInput,
  about: { at: Date; observedGeneration?: number | undefined },
): Condition[] {
  const { at, observedGeneration } = about;
  const computed = CONDITIONS.map((table) => ({
    ...conditionAt(table.type, stateOf(table, input), known, at),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  }));
  const kept = known.map((condition) => computed.find((each) => each.type === condition.type) ?? condition);
  return [...kept, ...computed.filter((each) => !kept.includes(each))];
}
