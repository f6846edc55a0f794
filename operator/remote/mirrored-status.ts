import { DEFAULT_COMPLIANT_GRADE, gradeOf, minimumScoreOf } from '../../core/shapes/grade.ts';
import { contextOf } from '../../core/observation/context-of.ts';
import { MIRRORED_REASON } from '../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import type { Phase } from '../../core/shapes/values.ts';
import { conditionAt, type ConditionState } from '../../core/observation/condition-table.ts';
import { oldGradeOf } from '../../core/observation/status-of.ts';
import { present } from '../../core/untrusted/present.ts';
import { dayOf } from '../../core/usage/day-totals.ts';
import type { RemoteAgent } from '../../core/shapes/agent-row.ts';

const no = (reason: string, message: string): ConditionState => ({ status: 'False', reason, message });
const yes = (reason: string, message: string): ConditionState => ({ status: 'True', reason, message });
const NOT_LISTED: ConditionState = {
  status: 'Unknown',
  reason: MIRRORED_REASON,
  message: "unknown: not part of the remote control plane's agent list",
};

const REPORTS = yes('HeartbeatReceived', 'the agent reports to its control plane');
const STALE = no('Stale', 'its control plane has received no recent heartbeat');
const NO_HEARTBEAT = no('NoHeartbeat', 'its control plane has received no heartbeat yet');
const NEVER_REPORTED = no('NeverReported', 'its control plane has never received a heartbeat');
const AWAITED = no('AwaitingFirstHeartbeat', NO_HEARTBEAT.message);
const NO_FAILED_CHECK = 'its control plane reports no failed check of severity error';

/** The conditions for each listed phase. */
const BY_PHASE: Readonly<Record<Phase, Record<'Ready' | 'Reporting', ConditionState>>> = {
  Healthy: { Ready: yes('Healthy', NO_FAILED_CHECK), Reporting: REPORTS },
  Degraded: { Ready: yes('Degraded', NO_FAILED_CHECK), Reporting: REPORTS },
  Unhealthy: { Ready: no('Unhealthy', 'a check of severity error fails'), Reporting: REPORTS },
  Unknown: { Ready: STALE, Reporting: STALE },
  Pending: { Ready: NO_HEARTBEAT, Reporting: NO_HEARTBEAT },
};
/** The same before the first heartbeat. */
const BEFORE_FIRST: Partial<typeof BY_PHASE> = {
  Unknown: { Ready: NEVER_REPORTED, Reporting: NEVER_REPORTED },
  Pending: { Ready: AWAITED, Reporting: { ...AWAITED, status: 'Unknown' } },
};

const statesOf = ({ phase, lastSeen }: RemoteAgent): (typeof BY_PHASE)[Phase] =>
  (lastSeen === null ? BEFORE_FIRST[phase] : undefined) ?? BY_PHASE[phase];

/**
 * The status of an agent according to the list of the remote control plane. The phase is copied unchanged. Conditions that
 * the list does not cover are Unknown.
 */
export function mirroredStatus(
  observation: AgentObservation,
  agent: RemoteAgent,
  at: Date,
): ObservationStatus {
  const { phase, agentId, runtime, grade, score, tokens, lastSeen } = agent;
  const states = { ...statesOf(agent), Compliant: compliantOf(observation, agent) };
  const known = score === null ? undefined : (grade ?? gradeOf(score));
  return present({
    ...{ phase, agentId, runtime, score, tokens },
    grade: known,
    oldGrade: oldGradeOf({ grade: known, isReporting: states.Reporting.status === 'True' }),
    lastChecked: lastSeen,
    ...judged(observation, at, states),
  });
}

/**
 * The status while the remote control plane is unreachable: the last known status with phase Unknown. It is the same on
 * every call of a day, so that an outage costs one write, and one each midnight because the usage of the new day is unknown.
 */
export function unreachableStatus(observation: AgentObservation, at: Date): ObservationStatus {
  const unreachable = no('ControlPlaneUnreachable', "the agent's control plane does not respond");
  const { tokens, lastChecked }: Partial<ObservationStatus> = observation.status ?? {};
  const isOfToday = lastChecked !== undefined && dayOf(new Date(lastChecked)) === dayOf(at);
  return present({
    ...observation.status,
    tokens: isOfToday ? tokens : undefined,
    phase: 'Unknown' as const,
    oldGrade: oldGradeOf({ grade: observation.status?.grade, isReporting: false }),
    ...judged(observation, at, {
      Ready: unreachable,
      Reporting: unreachable,
      Compliant: { ...unreachable, status: 'Unknown' },
    }),
  });
}

function judged(
  { metadata, status }: AgentObservation,
  at: Date,
  states: Record<'Ready' | 'Reporting' | 'Compliant', ConditionState>,
): Pick<ObservationStatus, 'conditions' | 'observedGeneration'> {
  const all = {
    Ready: states.Ready,
    Reporting: states.Reporting,
    AgentReachable: NOT_LISTED,
    ModelReachable: NOT_LISTED,
    PolicyLoaded: NOT_LISTED,
    Compliant: states.Compliant,
  };
  const observed = present({ observedGeneration: metadata.generation });
  const conditions = (Object.entries(all) as [keyof typeof all, ConditionState][]).map(([type, state]) => ({
    ...conditionAt(type, state, status?.conditions ?? [], at),
    ...observed,
  }));
  return { ...observed, conditions };
}

function compliantOf(observation: AgentObservation, agent: RemoteAgent): ConditionState {
  const { score } = agent;
  const { compliantGrade = DEFAULT_COMPLIANT_GRADE } = contextOf(observation);
  const reporting = statesOf(agent).Reporting;
  if (reporting.status !== 'True') return { ...reporting, status: 'Unknown' };
  return score === null || score < minimumScoreOf(compliantGrade)
    ? no('GradeTooLow', `the grade is below ${compliantGrade}`)
    : NOT_LISTED;
}
