import { confirmedStop } from './agent-stop.ts';
import { amount, bigCount, count, score, sequence, utcDay } from './common.ts';
import { evidenceSums } from './evidence.ts';
import { flag, isoTime, named, oneOf, text } from './field.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';
import { outcomeMembers } from './outcomes.ts';
import { PHASES } from './values.ts';

/** The process that sends the heartbeats of an instance. */
export const processMembers = {
  name: text("The pod's name, or the instance name of a remote agent."),
  'uid?': text('uid of the pod.'),
  startedAt: isoTime('When its sidecar or reporter started.'),
};

/** Its heartbeats. */
const heard = {
  lastHeartbeat: isoTime('When its last heartbeat was received.'),
  intervalSeconds: count('Seconds between its heartbeats, as it reports itself.'),
};

const dayUse = {
  tokensToday: bigCount('Its tokens of the UTC day in day.'),
  costTodayUsd: amount('Their cost in US dollars; 0 while the manifest has no prices.'),
  day: utcDay('UTC day (YYYY-MM-DD) of tokensToday and costTodayUsd.'),
};

const seq = sequence('Sequence number of its last heartbeat since startedAt.');

export const outcomes = namedObject(
  'OutcomeCounts',
  'Requests by policy result since the start of each sidecar, over all reporting instances.',
  outcomeMembers,
);

const { cut: _, ...stopMembers } = confirmedStop.members;
const stop = object('The stop that it applies. Absent: it is not stopped.', stopMembers);

export const modelCheck = oneOf('The result of the model check.', ['pass', 'fail', 'skip']);

export const briefInstance = object('One unlisted instance.', {
  ...processMembers,
  seq,
  ...heard,
  ...dayUse,
  'outcomes?': outcomes,
  'stop?': stop,
});

/** The counters of an instance. */
export interface BriefInstance extends TypeOf<typeof briefInstance> {}

const evidence = object(
  'Its evidence without the items. Absent if its sender has no evidence, such as a sidecar of 0.1.0.',
  {
    shown: evidenceSums.shown,
    declared: count('Items that its manifest declares.'),
    reported: evidenceSums.reported,
    'shownWithoutLocalProofs?': amount(
      'shown without local proofs, which decides Compliant. Absent if no local proof counts.',
    ),
    notShown: list('The first five items without evidence.', text('Kind and name of an item.'), { max: 5 }),
  },
);

/** Evidence of one instance, without the list of items. */
export interface InstanceEvidence extends TypeOf<typeof evidence> {}

const members = object('One pod or remote process that reports for this agent.', {
  ...processMembers,
  seq,
  phase: oneOf('Its phase from its own checks.', PHASES),
  score: score('Its score.'),
  'scoreWithoutLocalProofs?': score(
    'Its score without local proofs, which decides Compliant. Absent if no local proof counts in the score.',
  ),
  'localProofsUnknown?': oneOf(
    'True if its sidecar (0.1.0) does not report whether local proofs count in its score.',
    [true],
  ),
  ...heard,
  'sidecarVersion?': text('Version of its sidecar.'),
  'manifestHash?': text('Hash of its manifest. Absent if its sender reports none.'),
  ...dayUse,
  violations: count(
    'Distinct reasons of policy denials between its last two heartbeats or in its last gap report.',
  ),
  criticalIssues: count('Critical issues in its last gap report.'),
  'evidence?': evidence,
  'audit?': object('Its scores of the compliance rules. Absent if its sender has no scores.', {
    declared: score('Declared score.'),
    proved: score('Proved score.'),
  }),
  'nothingDeclared?': oneOf(
    'True if its requests use tools, and its manifest declares no tool and no guardrail, and the agent has no proof of the control plane.',
    [true],
  ),
  'staleProofs?': list(
    'Rules whose proof is stale here, because a tested value has changed. Absent: none.',
    text('The rule.'),
    { max: 100 },
  ),
  'reporterInvalid?': oneOf('True if its last gap report has the issue reporter.invalid.', [true]),
  'agentReachable?': flag("Whether the sidecar can connect to the agent's port. Absent while unknown."),
  'modelStatus?': modelCheck,
  'policyState?': oneOf('The last response of its policy engine.', [
    'none',
    'unreachable',
    'not-loaded',
    'answered',
  ]),
  'outcomes?': outcomes,
  'stop?': stop,
  deniedInWindow: count('Requests that the policy denied between its last two heartbeats.'),
});

/** The state of one instance. */
export interface InstanceStatus extends TypeOf<typeof members> {}
export const instanceStatus = named('InstanceStatus', members);
