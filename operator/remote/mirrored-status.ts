import { barOf, DEFAULT_COMPLIANT_GRADE, gradeOf } from '../../core/gap/grade.ts';
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
 * The status of an agent as the control plane outside lists it. It judges by what it knows: the phase is taken as it
 * is, and what the list does not tell stays unknown.
 *
 * | Phase there | Ready | Reporting |
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
 * The status while nobody can say how the agent is: what was last known, marked as old. The same on every call of a day,
 * so that an outage costs one write, and one each midnight: what was used on a new day is not known.
 */
export function unheardStatus(observation: AgentObservation, at: Date): ObservationStatus {
  const silent = no('ControlPlaneUnreachable', 'the control plane that the agent reports to does not answer');
  const before: Partial<ObservationStatus> = observation.status ?? {};
  const { tokens, ...known } = before;
  const { lastChecked } = known;
  const isOfToday = lastChecked !== undefined && dayOf(new Date(lastChecked)) === dayOf(at);
  return {
    ...known,
    ...(tokens !== undefined && isOfToday ? { tokens } : {}),
    phase: 'Unknown',
    ...judged(observation, at, {
      Ready: silent,
      Reporting: silent,
      Compliant: { ...silent, status: 'Unknown' },
    }),
  };
}

const no = (reason: string, message: string): Verdict => ({ status: 'False', reason, message });
const yes = (reason: string, message: string): Verdict => ({ status: 'True', reason, message });
const NOT_LISTED: Verdict = {
  status: 'Unknown',
  reason: 'Mirrored',
  message: 'the agent reports to a control plane elsewhere, whose list does not tell this',
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
      return no('Stale', 'its control plane has not heard from the agent lately');
    case 'Pending':
      return no('NoHeartbeat', 'its control plane has received no heartbeat yet');
  }
}

function readyOf(phase: Phase, reporting: Verdict): Verdict {
  if (reporting.status !== 'True') return reporting;
  return phase === 'Unhealthy'
    ? no('Unhealthy', 'a check of severity error fails')
    : yes(phase, 'its control plane finds no failed check of severity error');
}

function compliantOf(observation: AgentObservation, agent: OutsideAgent, reporting: Verdict): Verdict {
  const { compliantGrade = DEFAULT_COMPLIANT_GRADE } = contextOf(observation);
  if (reporting.status !== 'True') return { ...reporting, status: 'Unknown' };
  if (agent.score === null || agent.score < barOf(compliantGrade))
    return no('GradeTooLow', `the grade is below ${compliantGrade}`);
  return NOT_LISTED;
}
