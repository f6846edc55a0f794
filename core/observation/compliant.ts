import { barOf } from '../gap/grade.ts';
import { someIs, type ConditionInput, type ConditionRow } from './condition-input.ts';
import type { InstanceStatus } from './observation.ts';
import { leastEvidence, notShownText, provedPercent } from './shown.ts';
import { always } from './verdict.ts';

const sum = (live: readonly InstanceStatus[], of: (instance: InstanceStatus) => number): number =>
  live.reduce((total, instance) => total + of(instance), 0);

const isEngineAway = someIs('unreachable');

const isBelow = (score: number | undefined, { compliantGrade }: ConditionInput): boolean =>
  score === undefined || score < barOf(compliantGrade);

/** The rows of the condition `Compliant` while an instance reports. */
export const COMPLIANT: readonly ConditionRow[] = [
  {
    status: 'False',
    reason: 'ReporterInvalid',
    when: 'the report of an agent is not valid (issue `reporter.invalid`)',
    holds: ({ live }) => live.some(({ reporterInvalid }) => reporterInvalid === true),
    message: () => 'the report of the agent (GET /platform/health) is not valid',
  },
  {
    status: 'False',
    reason: 'GradeTooLow',
    when: 'the grade without local proofs is below B, or below the annotation `platform.io/compliant-grade`, and every configured engine answers',
    holds: (input) => !isEngineAway(input) && isBelow(input.score, input),
    message: ({ compliantGrade }) => `the grade without local proofs is below ${compliantGrade}`,
  },
  {
    status: 'False',
    reason: 'CriticalIssue',
    when: 'an instance has an issue of severity critical',
    holds: ({ live }) => sum(live, (instance) => instance.criticalIssues) > 0,
    message: () => 'the gap has a critical issue',
  },
  {
    status: 'False',
    reason: 'PolicyDenied',
    when: 'the policy denied a request between the last two heartbeats, or the last gap has an issue `policy.*`',
    holds: ({ live }) => sum(live, (instance) => instance.deniedInWindow + instance.violations) > 0,
    message: () => 'the policy denied something since the last heartbeat',
  },
  {
    status: 'Unknown',
    reason: 'EngineUnreachable',
    when: 'the engine of an instance gives no answer: the grade is without its denials',
    holds: isEngineAway,
    message: () => 'the policy engine gives no answer, so the grade is without its denials',
  },
  {
    status: 'Unknown',
    reason: 'LocalProofsUnknown',
    when: 'the grade is that low without the proof that an agent may have written itself, and the sidecar (0.1.0) does not say whether there is one',
    holds: (input) => isBelow(input.sureScore, input),
    message: ({ compliantGrade }) =>
      `a sidecar of an older version does not say whether the grade is below ${compliantGrade} without local proofs: replace its pod, so that it gets the present sidecar`,
  },
  {
    status: 'Unknown',
    reason: 'NotShown',
    when: 'an instance has less evidence than 50 %, or than the annotation `platform.io/compliant-evidence`, without local proofs',
    holds: ({ live, compliantEvidence }) =>
      live.some(({ evidence }) => evidence !== undefined && provedPercent(evidence) < compliantEvidence),
    message: notShownMessage,
  },
  {
    status: 'Unknown',
    reason: 'EvidenceUnknown',
    when: 'an instance sends no evidence, as a sidecar of 0.1.0, and the annotation is not "0"',
    holds: ({ live, compliantEvidence }) =>
      compliantEvidence > 0 && live.some(({ evidence }) => evidence === undefined),
    message: () =>
      'an instance sends no evidence: replace its pod, so that it gets the present sidecar, or update its reporter',
  },
  {
    status: 'True',
    reason: 'Compliant',
    when: 'none of these',
    holds: always,
    message: ({ compliantGrade, compliantEvidence }) =>
      `grade ${compliantGrade} or better, evidence of ${compliantEvidence} % or more, no critical issue, no policy denial`,
  },
];

/** Names and no share: the share moves with each request. */
function notShownMessage({ live, compliantEvidence }: ConditionInput): string {
  const least = leastEvidence(live);
  const names = least === undefined ? '' : notShownText(least);
  const what = names === '' ? 'too much of the rest is reported by the agent alone' : `never shown: ${names}`;
  return `less than ${compliantEvidence} % of what the manifest declares was shown in the last 24 hours; ${what}`;
}
