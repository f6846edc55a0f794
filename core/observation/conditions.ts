import { barOf } from '../gap/grade.ts';
import type { Grade } from '../gap/gap.ts';
import type { Condition, ConditionType, InstanceStatus, Phase } from './observation.ts';

type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>;

/** What the conditions are judged by. Messages hold nothing that moves with every heartbeat. */
export interface ConditionInput {
  phase: Phase;
  score: number | undefined;
  /** All listed instances, and those of them that were heard from lately. */
  instances: readonly InstanceStatus[];
  live: readonly InstanceStatus[];
  /** Workload state, as far as the writer knows it. */
  activity: 'running' | 'scaled-to-zero' | 'idle';
  /** ISO 8601; undefined: never. */
  lastChecked: string | undefined;
  /** The lowest grade that counts as compliant. */
  compliantGrade: Grade;
}

/** The conditions that every writer computes alike; Injected, Routed and Conflict are the operator's alone. */
const CONDITIONS: readonly { type: ConditionType; judge: (input: ConditionInput) => Verdict }[] = [
  { type: 'Ready', judge: ready },
  { type: 'Reporting', judge: reporting },
  { type: 'AgentReachable', judge: whenLive(agentReachable) },
  { type: 'ModelReachable', judge: whenLive(modelReachable) },
  { type: 'PolicyLoaded', judge: whenLive(policyLoaded) },
  { type: 'Compliant', judge: whenLive(compliant) },
];

/** The conditions as they are at `at`: `lastTransitionTime` moves only where the status does, others are kept. */
export function conditionsOf(
  known: readonly Condition[],
  input: ConditionInput,
  about: { at: Date; observedGeneration?: number },
): Condition[] {
  const computed = CONDITIONS.map(({ type, judge }) => {
    const verdict = judge(input);
    const before = known.find((condition) => condition.type === type);
    const moved = before?.status !== verdict.status;
    return {
      type,
      ...verdict,
      lastTransitionTime: moved ? seconds(about.at) : before.lastTransitionTime,
      ...(about.observedGeneration === undefined ? {} : { observedGeneration: about.observedGeneration }),
    };
  });
  const kept = known.map((condition) => computed.find((each) => each.type === condition.type) ?? condition);
  return [...kept, ...computed.filter((each) => !kept.includes(each))];
}

function seconds(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}

const yes = (reason: string, message: string): Verdict => ({ status: 'True', reason, message });
const no = (reason: string, message: string): Verdict => ({ status: 'False', reason, message });
const unknown = (reason: string, message: string): Verdict => ({ status: 'Unknown', reason, message });

/** What nobody reports on is not known. */
function whenLive(judge: (input: ConditionInput) => Verdict): (input: ConditionInput) => Verdict {
  return (input) =>
    input.live.length > 0 ? judge(input) : unknown('NotReporting', reporting(input).message);
}

function ready(input: ConditionInput): Verdict {
  const reports = reporting(input);
  if (reports.status !== 'True') return no(reports.reason, reports.message);
  if (input.phase === 'Unhealthy') return no('Unhealthy', 'a check of severity error fails');
  const reachable = agentReachable(input);
  if (reachable.status !== 'True') return { ...reachable };
  return yes(input.phase, 'the agent reports, is reachable and has no failed check of severity error');
}

function reporting(input: ConditionInput): Verdict {
  const { live, instances, activity, lastChecked } = input;
  if (live.length > 0 && live.length === instances.length)
    return yes('HeartbeatReceived', 'all instances report');
  if (live.length > 0)
    return yes('SomeInstancesSilent', `${live.length} of ${instances.length} instances report`);
  if (activity === 'scaled-to-zero') return no('ScaledToZero', 'the workload is scaled to zero');
  if (activity === 'idle') return no('Idle', 'the workload runs only from time to time');
  if (lastChecked === undefined) return no('NoHeartbeat', 'no heartbeat has been received yet');
  return no(input.phase === 'Unknown' ? 'Stale' : 'NoHeartbeat', `no heartbeat since ${lastChecked}`);
}

function agentReachable({ live }: ConditionInput): Verdict {
  const away = live.filter((instance) => instance.agentReachable === false).length;
  if (away > 0)
    return no('AgentUnreachable', `the agent does not answer in ${away} of ${live.length} instances`);
  if (live.every((instance) => instance.agentReachable === true))
    return yes('AgentReachable', 'the agent answers');
  return unknown('AgentNotProbed', 'no report says whether the agent answers');
}

function modelReachable({ live }: ConditionInput): Verdict {
  if (live.some((instance) => instance.modelStatus === 'fail'))
    return no('ModelUnreachable', "the model endpoint cannot be used with the agent's key");
  if (live.every((instance) => instance.modelStatus === 'pass'))
    return yes('ModelReachable', 'the model endpoint answers');
  return unknown(
    'ModelNotChecked',
    'the model is checked only by a reporter inside the agent that has its key',
  );
}

function policyLoaded({ live }: ConditionInput): Verdict {
  const has = (state: InstanceStatus['policyState']): boolean =>
    live.some((instance) => instance.policyState === state);
  if (has('not-loaded')) return no('PolicyNotLoaded', "the engine answers without this agent's rules");
  if (has('unreachable')) return unknown('EngineUnreachable', 'the policy engine gives no answer');
  if (has('none')) return no('NoEngine', 'no policy engine is configured');
  if (has(undefined)) return unknown('NotReported', 'no report says whether the policy is loaded');
  return yes('PolicyLoaded', "the engine has this agent's rules");
}

function compliant({ live, score, compliantGrade }: ConditionInput): Verdict {
  const total = (of: (instance: InstanceStatus) => number): number =>
    live.reduce((sum, instance) => sum + of(instance), 0);
  if (score === undefined || score < barOf(compliantGrade))
    return no('GradeTooLow', `the grade is below ${compliantGrade}`);
  if (total((instance) => instance.criticalIssues) > 0)
    return no('CriticalIssue', 'the gap has a critical issue');
  if (total((instance) => instance.deniedInWindow + instance.violations) > 0)
    return no('PolicyDenied', 'the policy denied something since the last heartbeat');
  return yes('Compliant', `grade ${compliantGrade} or better, no critical issue, no policy denial`);
}
