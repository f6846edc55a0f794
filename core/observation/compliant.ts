import { brokenRule } from './allowed.ts';
import { minimumScoreOf } from '../shapes/grade.ts';
import { hasPolicyState, type ConditionInput, type ConditionRow } from './condition-input.ts';
import { leastEvidence, notShownText, provedPercent } from './reported-state.ts';
import { row } from './condition-table.ts';

/** Issues that the message of `CriticalIssueRecently` names. */
const MAX_NAMED = 3;

const isEngineUnreachable = hasPolicyState('unreachable');

const isBelow = (score: number | undefined, { compliantGrade }: ConditionInput): boolean =>
  score === undefined || score < minimumScoreOf(compliantGrade);

const isNotShown = ({ live, compliantEvidence }: ConditionInput): boolean =>
  live.some(({ evidence }) => evidence !== undefined && provedPercent(evidence) < compliantEvidence);

/** The rows of the condition `Compliant` while an instance reports. */
export const COMPLIANT: readonly ConditionRow[] = [
  row('False', 'NotAllowed', {
    when: 'the agent breaks a Deny rule of the organisation (condition Allowed)',
    holds: (input) => brokenRule(input) !== null,
    message: (input) => `the organisation does not allow it: ${brokenRule(input)}`,
  }),
  row('False', 'ReporterInvalid', {
    when: 'the health report of an agent is invalid (issue `reporter.invalid`)',
    holds: ({ live }) => live.some(({ reporterInvalid }) => reporterInvalid === true),
    message: () => 'the health report of the agent (GET /platform/health) is invalid',
  }),
  row('False', 'GradeTooLow', {
    when: 'the grade without local proofs is below B (or the annotation `platform.io/compliant-grade`), and every configured policy engine responds',
    holds: (input) => !isEngineUnreachable(input) && isBelow(input.score, input),
    message: ({ compliantGrade, live }) => {
      const countsLocal = live.some(({ scoreWithoutLocalProofs: score }) => score !== undefined);
      return `the grade ${countsLocal ? 'without local proofs ' : ''}is below ${compliantGrade}`;
    },
  }),
  row('False', 'CriticalIssue', {
    when: 'an instance has an issue of severity critical',
    holds: ({ live }) => live.some(({ criticalIssues }) => criticalIssues > 0),
    message: () => 'the gap report has a critical issue',
  }),
  row('False', 'PolicyDenied', {
    when: 'the policy denied a request or a call through a lane between the last two heartbeats, or the last gap report has an issue `policy.*`',
    holds: ({ live }) => live.some(({ deniedInWindow, violations }) => deniedInWindow + violations > 0),
    message: () => 'requests violate the policy',
  }),
  row('False', 'CriticalIssueRecently', {
    when: 'an instance has a manifest under which a critical issue was reported in the last 24 hours (`status.worst`), also before a restart',
    holds: ({ recentCriticalIssues }) => recentCriticalIssues.length > 0,
    message: ({ recentCriticalIssues }) =>
      `a critical issue was reported in the last 24 hours: ${recentCriticalIssues.slice(0, MAX_NAMED).join(', ')}`,
  }),
  row('Unknown', 'EngineUnreachable', {
    when: 'the policy engine of an instance is unreachable, so the grade does not include its denials',
    holds: isEngineUnreachable,
    message: () => 'the policy engine is unreachable, so the grade does not include its denials',
  }),
  row('Unknown', 'LocalProofsUnknown', {
    when: 'the grade may be too low without local proofs, and the sidecar (0.1.0) does not report whether local proofs count',
    holds: (input) => isBelow(input.worstCaseScore, input),
    message: ({ compliantGrade }) =>
      `a sidecar of an older version does not report whether the grade is below ${compliantGrade} without local proofs; replace its pod to inject the current sidecar`,
  }),
  row('Unknown', 'NothingDeclared', {
    when: 'requests of an instance use tools, and its manifest declares no tool and no guardrail, and the agent has no unexpired proof of the control plane',
    holds: ({ live }) => live.some(({ nothingDeclared }) => nothingDeclared === true),
    message: () =>
      'declare tools and guardrails in the manifest: requests use tools, the manifest declares none, and there is no proof',
  }),
  row('Unknown', 'Stopped', {
    when: 'the agent is stopped (condition Stopped), and an instance has less evidence than needed: a stopped agent can show nothing',
    holds: (input) => input.stop !== undefined && isNotShown(input),
    message: () => 'the agent is stopped, and a stopped agent shows nothing',
  }),
  row('Unknown', 'NotShown', {
    when: 'an instance has less evidence than 50 % (or the annotation `platform.io/compliant-evidence`) without local proofs',
    holds: isNotShown,
    message: notShownMessage,
  }),
  row('Unknown', 'EvidenceUnknown', {
    when: 'an instance sends no evidence (sidecar 0.1.0), and the annotation is not "0"',
    holds: ({ live, compliantEvidence }) =>
      compliantEvidence > 0 && live.some(({ evidence }) => evidence === undefined),
    message: () =>
      'an instance sends no evidence; replace its pod to inject the current sidecar, or update its reporter',
  }),
  row('True', 'Compliant', {
    when: 'none of the other rows applies',
    message: ({ compliantGrade, compliantEvidence }) =>
      `grade ${compliantGrade} or better, at least ${compliantEvidence}% evidence, no critical issue, no violation`,
  }),
];

/** Begins with what to do. Contains the names of items but not their share, because the share changes with each request. */
function notShownMessage({ live, compliantEvidence }: ConditionInput): string {
  const least = leastEvidence(live);
  const names = least === undefined ? '' : notShownText(least);
  const under = `evidence is below ${compliantEvidence}%`;
  return names === ''
    ? `add egress lanes or proofs: ${under}, because too many items are reported only by the agent`
    : `send requests through the sidecar, and report tools and guardrails: ${under}, without ${names}`;
}
