import { describe, expect, test } from '@jest/globals';
import type { ConditionInput } from './condition-input.ts';
import { CONDITIONS, conditionsOf } from './conditions.ts';
import type { ConditionType } from '../shapes/condition.ts';
import type { InstanceStatus } from '../shapes/instance.ts';
import type { OrganisationStatus } from '../shapes/organisation.ts';

const live = (change: Partial<InstanceStatus> = {}): InstanceStatus => ({
  name: 'a',
  startedAt: '2026-11-21T00:00:00Z',
  seq: 1,
  phase: 'Healthy',
  score: 100,
  lastHeartbeat: '2026-11-21T12:00:00Z',
  intervalSeconds: 30,
  tokensToday: 0,
  costTodayUsd: 0,
  day: '2026-11-21',
  violations: 0,
  criticalIssues: 0,
  deniedInWindow: 0,
  agentReachable: true,
  modelStatus: 'pass',
  policyState: 'answered',
  evidence: { shown: 1, declared: 2, reported: 0, notShown: ['tool x'] },
  ...change,
});

const inputOf = (change: Partial<ConditionInput> = {}): ConditionInput => {
  const instances = change.live ?? [live()];
  return {
    phase: 'Healthy',
    score: 100,
    worstCaseScore: change.score ?? 100,
    instances,
    live: instances,
    unlisted: 0,
    activity: 'running',
    lastChecked: '2026-11-21T12:00:00Z',
    awaitedSince: undefined,
    recentCriticalIssues: [],
    compliantGrade: 'B',
    compliantEvidence: 50,
    organisation: undefined,
    stop: undefined,
    ...change,
  };
};

const silent = (change: Partial<ConditionInput> = {}): ConditionInput =>
  inputOf({ live: [], instances: [live()], phase: 'Unknown', ...change });

const finding = (action: 'Deny' | 'Warn') => ({
  ...{ policy: 'production', rule: 'models', severity: 'high' as const, action },
  ...{ path: 'spec.model.id', message: 'model o9 is not allowed' },
});
const judged = (change: Partial<OrganisationStatus> = {}): ConditionInput => {
  const known = { judgedAt: '2026-11-21T12:00:00Z', manifestHash: 'a', broken: [], notJudged: [] };
  return inputOf({ organisation: { ...known, brokenTotal: change.broken?.length ?? 0, ...change } });
};

/** Stopped, with these instances. */
const stopped = (confirmed: number, instances: InstanceStatus[] = [live()]): ConditionInput => {
  const stop = { id: 'shop/a', reason: 'leak', since: '2026-11-21T11:00:00Z', confirmed };
  return inputOf({ live: instances, stop: { ...stop, instances: instances.length } });
};
const applied = (lanes: boolean): InstanceStatus =>
  live({ stop: { id: 'shop/a', since: '2026-11-21T11:00:01Z', lanes } });

/** One example per row of each truth table, in the order of the tables. */
const ROWS: [ConditionType, string, string, ConditionInput][] = [
  ['Ready', 'False', 'ScaledToZero', silent({ activity: 'scaled-to-zero', phase: 'Pending' })],
  ['Ready', 'False', 'Idle', silent({ activity: 'idle', phase: 'Pending' })],
  ['Ready', 'False', 'Stale', silent()],
  ['Ready', 'False', 'NeverReported', silent({ lastChecked: undefined })],
  ['Ready', 'False', 'AwaitingFirstHeartbeat', silent({ lastChecked: undefined, phase: 'Pending' })],
  ['Ready', 'False', 'NoHeartbeat', silent({ phase: 'Pending' })],
  ['Ready', 'False', 'Unhealthy', inputOf({ phase: 'Unhealthy' })],
  ['Ready', 'False', 'AgentUnreachable', inputOf({ live: [live({ agentReachable: false })] })],
  ['Ready', 'Unknown', 'AgentNotProbed', inputOf({ live: [{ ...live(), agentReachable: undefined! }] })],
  ['Ready', 'True', 'Degraded', inputOf({ phase: 'Degraded' })],
  ['Ready', 'True', 'Healthy', inputOf()],
  ['Ready', 'Unknown', 'PhaseUnknown', inputOf({ phase: 'Unknown' })],
  ['Reporting', 'True', 'HeartbeatReceived', inputOf()],
  ['Reporting', 'True', 'SomeInstancesSilent', inputOf({ instances: [live(), live({ name: 'b' })] })],
  ['Reporting', 'False', 'ScaledToZero', silent({ activity: 'scaled-to-zero' })],
  ['Reporting', 'False', 'Idle', silent({ activity: 'idle' })],
  ['Reporting', 'False', 'Stale', silent()],
  ['Reporting', 'False', 'NeverReported', silent({ lastChecked: undefined })],
  ['Reporting', 'Unknown', 'AwaitingFirstHeartbeat', silent({ lastChecked: undefined, phase: 'Pending' })],
  ['Reporting', 'False', 'NoHeartbeat', silent({ phase: 'Pending' })],
  ['AgentReachable', 'Unknown', 'NotReporting', silent()],
  [
    'AgentReachable',
    'False',
    'AgentUnreachable',
    inputOf({ live: [live(), live({ agentReachable: false })] }),
  ],
  ['AgentReachable', 'True', 'AgentReachable', inputOf()],
  [
    'AgentReachable',
    'Unknown',
    'AgentNotProbed',
    inputOf({ live: [{ ...live(), agentReachable: undefined! }] }),
  ],
  ['ModelReachable', 'Unknown', 'NotReporting', silent()],
  ['ModelReachable', 'False', 'ModelUnreachable', inputOf({ live: [live(), live({ modelStatus: 'fail' })] })],
  ['ModelReachable', 'True', 'ModelReachable', inputOf()],
  [
    'ModelReachable',
    'Unknown',
    'ModelNotChecked',
    inputOf({ live: [live(), live({ modelStatus: 'skip' })] }),
  ],
  ['PolicyLoaded', 'Unknown', 'NotReporting', silent()],
  [
    'PolicyLoaded',
    'False',
    'PolicyNotLoaded',
    inputOf({ live: [live({ policyState: 'unreachable' }), live({ policyState: 'not-loaded' })] }),
  ],
  [
    'PolicyLoaded',
    'Unknown',
    'EngineUnreachable',
    inputOf({ live: [live({ policyState: 'none' }), live({ policyState: 'unreachable' })] }),
  ],
  ['PolicyLoaded', 'False', 'NoEngine', inputOf({ live: [live(), live({ policyState: 'none' })] })],
  [
    'PolicyLoaded',
    'Unknown',
    'NotReported',
    inputOf({ live: [live(), { ...live(), policyState: undefined! }] }),
  ],
  ['PolicyLoaded', 'True', 'PolicyLoaded', inputOf()],
  ['Allowed', 'Unknown', 'NotReporting', silent()],
  ['Allowed', 'True', 'NoPolicy', inputOf()],
  ['Allowed', 'False', 'RuleBroken', judged({ broken: [finding('Warn'), finding('Deny')] })],
  ['Allowed', 'Unknown', 'NotJudged', judged({ notJudged: [{ policy: 'production', reason: 'why' }] })],
  ['Allowed', 'True', 'RulesBroken', judged({ broken: [finding('Warn')] })],
  ['Allowed', 'True', 'Allowed', judged()],
  ['Stopped', 'False', 'Running', inputOf()],
  ['Stopped', 'Unknown', 'Stopping', stopped(1, [applied(true), live({ name: 'b' })])],
  ['Stopped', 'True', 'IngressOnly', stopped(2, [applied(true), applied(false)])],
  ['Stopped', 'True', 'Stopped', stopped(1, [applied(true)])],
  ['Compliant', 'Unknown', 'NotReporting', silent()],
  ['Compliant', 'False', 'NotAllowed', judged({ broken: [finding('Deny')] })],
  [
    'Compliant',
    'False',
    'ReporterInvalid',
    inputOf({ score: 74, live: [live(), live({ reporterInvalid: true, criticalIssues: 1 })] }),
  ],
  ['Compliant', 'False', 'GradeTooLow', inputOf({ score: 74, live: [live({ criticalIssues: 1 })] })],
  ['Compliant', 'False', 'CriticalIssue', inputOf({ live: [live({ criticalIssues: 1, violations: 1 })] })],
  [
    'Compliant',
    'False',
    'PolicyDenied',
    inputOf({ live: [live({ deniedInWindow: 1, policyState: 'unreachable' })] }),
  ],
  [
    'Compliant',
    'False',
    'CriticalIssueRecently',
    inputOf({ recentCriticalIssues: ['p'], live: [live({ policyState: 'unreachable' })] }),
  ],
  [
    'Compliant',
    'Unknown',
    'EngineUnreachable',
    inputOf({ score: 74, live: [live(), live({ policyState: 'unreachable' })] }),
  ],
  ['Compliant', 'Unknown', 'LocalProofsUnknown', inputOf({ score: 75, worstCaseScore: 70 })],
  [
    'Compliant',
    'Unknown',
    'NothingDeclared',
    inputOf({ compliantEvidence: 51, live: [live(), live({ nothingDeclared: true })] }),
  ],
  ['Compliant', 'Unknown', 'Stopped', { ...stopped(1), compliantEvidence: 51 }],
  ['Compliant', 'Unknown', 'NotShown', inputOf({ compliantEvidence: 51 })],
  [
    'Compliant',
    'Unknown',
    'EvidenceUnknown',
    inputOf({ live: [live(), { ...live(), evidence: undefined! }] }),
  ],
  ['Compliant', 'True', 'Compliant', inputOf({ score: 80, worstCaseScore: 75 })],
];

describe('the truth tables of the conditions', () => {
  test.each(ROWS)('%s is %s with the reason %s', (type, status, reason, input) => {
    const found = conditionsOf([], input, { at: new Date(0) }).find((each) => each.type === type);
    expect(found).toMatchObject({ status, reason, lastTransitionTime: '1970-01-01T00:00:00Z' });
    expect(found?.message).toMatch(/^[a-z0-9].*[^.]$/);
  });

  test('have exactly the rows of the examples', () => {
    const rows = CONDITIONS.flatMap(({ type, rows }) =>
      rows.map(({ status, reason }) => `${type} ${status} ${reason}`),
    );
    expect(rows).toEqual(ROWS.map(([type, status, reason]) => `${type} ${status} ${reason}`));
  });

  test.each([55, 75, 100])(
    'PolicyLoaded and Compliant are Unknown with a score of %i while the policy engine is unreachable',
    (score) => {
      const input = inputOf({ score, live: [live({ score, policyState: 'unreachable' })] });
      const found = conditionsOf([], input, { at: new Date(0) });
      for (const type of ['PolicyLoaded', 'Compliant'])
        expect(found.find((each) => each.type === type)).toMatchObject({
          status: 'Unknown',
          reason: 'EngineUnreachable',
        });
    },
  );

  test('the message of Reporting contains the latest heartbeat of all instances', () => {
    const last = live({ name: 'b', lastHeartbeat: '2026-11-21T12:00:20Z' });
    const input = silent({ instances: [live(), last, live({ name: 'c' })] });
    const found = conditionsOf([], input, { at: new Date(0) }).find(({ type }) => type === 'Reporting');
    expect(found?.message).toBe('no heartbeat since 2026-11-21T12:00:20Z');
  });
});
