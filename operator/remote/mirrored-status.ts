import { DEFAULT_COMPLIANT_GRADE, gradeOf, minimumScoreOf } from '../../core/gap/grade.ts';
import { contextOf } from '../../core/observation/context-of.ts';
import type {
  AgentObservation,
  ConditionType,
  ObservationStatus,
  Phase,
} from '../../core/observation/observation.ts';
import { conditionAt, type Verdict } from '../../core/observation/verdict.ts';
import { dayOf } from '../../core/usage/day-totals.ts';
import type { OutsideAgent } from './outside-agent.ts';

/**
 * The status of an agent according to the list of the remote control plane. The phase is copied unchanged. Conditions that
 * the list does not cover are Unknown.
 *
 * | Listed phase | Ready | Reporting |
 * |---|---|---|
 * | Healthy, Degraded | True | True |
 * | Unhealthy | False, Unhealthy | True |
 * | Unknown | False, Stale | False, Stale |
 * | Pending | False, NoHeartbeat | False, NoHeartbeat |
 */
export function mirroredStatus(
  observation: AgentObservation,
  agent: OutsideAgent,
  at: Date,
): ObservationStatus {
  const { phase, agentId, runtime, grade, score, tokens, lastSeen } = agent;
  const reporting = reportingOf(phase);
  const score100 = score === null ? {} : { score, grade: grade ?? gradeOf(score) };
  return {
    phase,
    agentId,
    runtime,
    ...score100,
    ...(tokens === null ? {} : { tokens }),
    ...(lastSeen === null ? {} : { lastChecked: lastSeen }),
    ...judged(observation, at, {
      Ready: readyOf(phase, reporting),
      Reporting: reporting,
      Compliant: compliantOf(observation, agent, reporting),
    }),
  };
}

/**
 * The status while the remote control plane is unreachable: the last known status with phase Unknown. It is the same on
 * every call of a day, so that an outage costs one write, and one each midnight because the usage of the new day is unknown.
 */
export function unreachableStatus(observation: AgentObservation, at: Date): ObservationStatus {
  const unreachable = no('ControlPlaneUnreachable', "the agent's control plane does not respond");
  const before: Partial<ObservationStatus> = observation.status ?? {};
  const { tokens, ...known } = before;
  const { lastChecked } = known;
  const isOfToday = lastChecked !== undefined && dayOf(new Date(lastChecked)) === dayOf(at);
  return {
    ...known,
    ...(tokens !== undefined && isOfToday ? { tokens } : {}),
    phase: 'Unknown',
    ...judged(observation, at, {
      Ready: unreachable,
      Reporting: unreachable,
      Compliant: { ...unreachable, status: 'Unknown' },
    }),
  };
}

const no = (reason: string, message: string): Verdict => ({ status: 'False', reason, message });
const yes = (reason: string, message: string): Verdict => ({ status: 'True', reason, message });
const NOT_LISTED: Verdict = {
  status: 'Unknown',
  reason: 'Mirrored',
  message: "unknown: not part of the remote control plane's agent list",
};

function judged(
  { metadata, status }: AgentObservation,
  at: Date,
  verdicts: Record<'Ready' | 'Reporting' | 'Compliant', Verdict>,
): Pick<ObservationStatus, 'conditions' | 'observedGeneration'> {
  const { generation } = metadata;
  const all: [ConditionType, Verdict][] = [
    ['Ready', verdicts.Ready],
    ['Reporting', verdicts.Reporting],
    ['AgentReachable', NOT_LISTED],
    ['ModelReachable', NOT_LISTED],
    ['PolicyLoaded', NOT_LISTED],
    ['Compliant', verdicts.Compliant],
  ];
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const known = status?.conditions ?? [];
  const judgedNow = all.map(([type, verdict]) => ({ ...conditionAt(type, verdict, known, at), ...observed }));
  return { ...observed, conditions: judgedNow };
}

function reportingOf(phase: Phase): Verdict {
  switch (phase) {
    case 'Healthy':
    case 'Degraded':
    case 'Unhealthy':
      return yes('HeartbeatReceived', 'the agent reports to its control plane');
    case 'Unknown':
      return no('Stale', 'its control plane has received no recent heartbeat');
    case 'Pending':
      return no('NoHeartbeat', 'its control plane has received no heartbeat yet');
  }
}

function readyOf(phase: Phase, reporting: Verdict): Verdict {
  if (reporting.status !== 'True') return reporting;
  return phase === 'Unhealthy'
    ? no('Unhealthy', 'a check of severity error fails')
    : yes(phase, 'its control plane reports no failed check of severity error');
}

function compliantOf(observation: AgentObservation, agent: OutsideAgent, reporting: Verdict): Verdict {
  const { compliantGrade = DEFAULT_COMPLIANT_GRADE } = contextOf(observation);
  if (reporting.status !== 'True') return { ...reporting, status: 'Unknown' };
  if (agent.score === null || agent.score < minimumScoreOf(compliantGrade))
    return no('GradeTooLow', `the grade is below ${compliantGrade}`);
  return NOT_LISTED;
}
