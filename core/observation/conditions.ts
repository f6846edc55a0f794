import { COMPLIANT } from './compliant.ts';
import { someIs, type ConditionInput, type ConditionRow } from './condition-input.ts';
import type { Condition, Phase } from './observation.ts';
import { always, conditionAt, verdictOf, type ConditionTable } from './verdict.ts';

type Row = ConditionRow;

/** Of all instances: `lastChecked` is that of the one whose report is shown. */
const lastHeard = ({ instances, lastChecked = '' }: ConditionInput): string =>
  instances.reduce((last, { lastHeartbeat }) => (lastHeartbeat > last ? lastHeartbeat : last), lastChecked);

const REPORTING: readonly Row[] = [
  {
    status: 'True',
    reason: 'HeartbeatReceived',
    when: 'every instance was heard from lately',
    holds: ({ live, instances }) => live.length > 0 && live.length === instances.length,
    message: () => 'all instances report',
  },
  {
    status: 'True',
    reason: 'SomeInstancesSilent',
    when: 'some instances were heard from lately, others not',
    holds: ({ live }) => live.length > 0,
    message: ({ live, instances, unlisted }) =>
      `${live.length + unlisted} of ${instances.length + unlisted} instances report`,
  },
  {
    status: 'False',
    reason: 'ScaledToZero',
    when: 'nobody reports, and the workload wants no pod: no alarm, the phase is Pending',
    holds: ({ activity }) => activity === 'scaled-to-zero',
    message: () => 'the workload is scaled to zero',
  },
  {
    status: 'False',
    reason: 'Idle',
    when: 'nobody reports, and it is between two runs of a CronJob, or the Job or Pod has ended: no alarm, the phase is Pending',
    holds: ({ activity }) => activity === 'idle',
    message: () => 'the workload runs only from time to time',
  },
  {
    status: 'False',
    reason: 'Stale',
    when: 'no instance was heard from for its stale time: the phase is Unknown',
    holds: ({ lastChecked, phase }) => lastChecked !== undefined && phase === 'Unknown',
    message: (input) => `no heartbeat since ${lastHeard(input)}`,
  },
  {
    status: 'False',
    reason: 'NoHeartbeat',
    when: 'none has come yet: from a new agent, or from the pods that follow those that are gone, while these have their time',
    holds: always,
    message: (input) =>
      input.lastChecked === undefined
        ? 'no heartbeat has been received yet'
        : `no heartbeat since ${lastHeard(input)}`,
  },
];

/** Of everything that a report says, when there is none. */
const UNREPORTED: Row = {
  status: 'Unknown',
  reason: 'NotReporting',
  when: 'nobody reports',
  holds: ({ live }) => live.length === 0,
  message: (input) => verdictOf({ type: 'Reporting', rows: REPORTING }, input).message,
};

const AGENT_REACHABLE: readonly Row[] = [
  {
    status: 'False',
    reason: 'AgentUnreachable',
    when: "a sidecar that reports gets no answer from its agent's port",
    holds: ({ live }) => live.some((instance) => instance.agentReachable === false),
    message: ({ live, unlisted }) => {
      const count = live.filter((each) => each.agentReachable === false).length;
      const some = unlisted === 0 ? count : `at least ${count}`;
      return `the agent does not answer in ${some} of ${live.length + unlisted} instances`;
    },
  },
  {
    status: 'True',
    reason: 'AgentReachable',
    when: 'it answers in every instance that reports',
    holds: ({ live }) => live.every((instance) => instance.agentReachable === true),
    message: () => 'the agent answers',
  },
  {
    status: 'Unknown',
    reason: 'AgentNotProbed',
    when: 'a report does not say',
    holds: always,
    message: () => 'no report says whether the agent answers',
  },
];

const MODEL_REACHABLE: readonly Row[] = [
  {
    status: 'False',
    reason: 'ModelUnreachable',
    when: 'the check of the model fails in an instance',
    holds: ({ live }) => live.some((instance) => instance.modelStatus === 'fail'),
    message: () => "the model endpoint cannot be used with the agent's key",
  },
  {
    status: 'True',
    reason: 'ModelReachable',
    when: 'it passes in every instance that reports',
    holds: ({ live }) => live.every((instance) => instance.modelStatus === 'pass'),
    message: () => 'the model endpoint answers',
  },
  {
    status: 'Unknown',
    reason: 'ModelNotChecked',
    when: 'an instance did not check it: without a reporter inside the agent nobody has its key',
    holds: always,
    message: () => 'the model is checked only by a reporter inside the agent that has its key',
  },
];

const POLICY_LOADED: readonly Row[] = [
  {
    status: 'False',
    reason: 'PolicyNotLoaded',
    when: 'the engine of an instance answers, but not for this agent',
    holds: someIs('not-loaded'),
    message: () => "the engine answers without this agent's rules",
  },
  {
    status: 'Unknown',
    reason: 'EngineUnreachable',
    when: 'the engine of an instance gives no answer',
    holds: someIs('unreachable'),
    message: () => 'the policy engine gives no answer',
  },
  {
    status: 'False',
    reason: 'NoEngine',
    when: 'an instance has no engine',
    holds: someIs('none'),
    message: () => 'no policy engine is configured',
  },
  {
    status: 'Unknown',
    reason: 'NotReported',
    when: 'an instance does not say',
    holds: someIs(undefined),
    message: () => 'no report says whether the policy is loaded',
  },
  {
    status: 'True',
    reason: 'PolicyLoaded',
    when: 'the engine of every instance that reports has the rules',
    holds: always,
    message: () => "the engine has this agent's rules",
  },
];

const healthy = (phase: Phase, when: string): Row => ({
  status: 'True',
  reason: phase,
  when,
  holds: (input) => input.phase === phase,
  message: () => 'the agent reports, is reachable and has no failed check of severity error',
});

const READY: readonly Row[] = [
  ...REPORTING.filter((row) => row.status === 'False').map((row): Row => ({
    ...row,
    when: 'as Reporting',
    holds: (input) => input.live.length === 0 && row.holds(input),
  })),
  {
    status: 'False',
    reason: 'Unhealthy',
    when: 'the phase is Unhealthy',
    holds: ({ phase }) => phase === 'Unhealthy',
    message: () => 'a check of severity error fails',
  },
  ...AGENT_REACHABLE.filter((row) => row.status !== 'True').map((row): Row => ({
    ...row,
    when: 'as AgentReachable',
    holds: (input) =>
      verdictOf({ type: 'AgentReachable', rows: AGENT_REACHABLE }, input).reason === row.reason,
  })),
  healthy('Degraded', 'the phase is Degraded: a check of a lower severity fails'),
  healthy('Healthy', 'the phase is Healthy'),
  {
    status: 'Unknown',
    reason: 'PhaseUnknown',
    when: 'it reports again after a silence, and the phase does not show it yet',
    holds: always,
    message: () => 'the phase is not known yet',
  },
];

/** The conditions that every writer computes alike; Injected, Routed and Conflict are the operator's alone. */
export const CONDITIONS: readonly ConditionTable<ConditionInput>[] = [
  { type: 'Ready', meaning: 'it reports, is Healthy or Degraded, and its port answers', rows: READY },
  { type: 'Reporting', meaning: 'heartbeats come', rows: REPORTING },
  {
    type: 'AgentReachable',
    meaning: "the agent's port answers its sidecar",
    rows: [UNREPORTED, ...AGENT_REACHABLE],
  },
  { type: 'ModelReachable', meaning: 'the model endpoint answers', rows: [UNREPORTED, ...MODEL_REACHABLE] },
  {
    type: 'PolicyLoaded',
    meaning: "the policy engine has this agent's rules",
    rows: [UNREPORTED, ...POLICY_LOADED],
  },
  {
    type: 'Compliant',
    meaning:
      'grade A or B, no critical issue, no policy denial in the window, no invalid report of the agent, a configured policy engine answers, and at least half of what the manifest declares was shown',
    rows: [UNREPORTED, ...COMPLIANT],
  },
];

/** The conditions as they are at `at`: `lastTransitionTime` moves only where the status does, others are kept. */
export function conditionsOf(
  known: readonly Condition[],
  input: ConditionInput,
  about: { at: Date; observedGeneration?: number },
): Condition[] {
  const { at, observedGeneration } = about;
  const computed = CONDITIONS.map((table) => ({
    ...conditionAt(table.type, verdictOf(table, input), known, at),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  }));
  const kept = known.map((condition) => computed.find((each) => each.type === condition.type) ?? condition);
  return [...kept, ...computed.filter((each) => !kept.includes(each))];
}
