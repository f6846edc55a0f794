import type { AgentRow, ShownGap } from './control-plane-client.ts';

export interface Expectation {
  phase: string;
  grade: string;
  score: number;
  /** Percent of the declared items. */
  evidence: number;
  /** Status and reason of the condition Compliant. */
  compliant: string;
  /** Properties that cost points, sorted. */
  issues: readonly string[];
}

/** Expected results of the agents. */
export const EXPECTED: Readonly<Record<string, Expectation>> = {
  compliant: {
    ...{ phase: 'Healthy', grade: 'A', score: 100, issues: [] },
    ...{ evidence: 77, compliant: 'True Compliant' },
  },
  python: {
    ...{ phase: 'Healthy', grade: 'A', score: 100, issues: [] },
    ...{ evidence: 50, compliant: 'True Compliant' },
  },
  silent: {
    ...{ phase: 'Healthy', grade: 'A', score: 100, issues: [] },
    ...{ evidence: 22, compliant: 'Unknown NotShown' },
  },
  lying: {
    ...{ phase: 'Healthy', grade: 'C', score: 70 },
    ...{ evidence: 45, compliant: 'False GradeTooLow' },
    issues: ['model.undeclared.gpt-4o-mini', 'service:orders-db'],
  },
  gappy: {
    phase: 'Degraded',
    grade: 'D',
    score: 45,
    ...{ evidence: 40, compliant: 'False GradeTooLow' },
    issues: ['auditable', 'evaluated', 'service:orders-db', 'tools.undeclared.refund_order'],
  },
  misbehaving: {
    phase: 'Healthy',
    grade: 'F',
    score: 0,
    ...{ evidence: 68, compliant: 'False GradeTooLow' },
    issues: [
      'discoverable.send_report',
      'guardrails.input.pii-detector',
      'guardrails.output.toxicity-filter',
      'policy.pii_detector_not_invoked',
      'tool:send_report',
      // Its lane removed the call, which the model made nevertheless.
      'tools.undeclared.delete_all_orders',
    ],
  },
};

/** All data of one agent's row. */
export interface Seen {
  row: AgentRow;
  gap: ShownGap;
  /** Tokens counted by the agent's reporter; null: no reporter. */
  upstreamTokens: number | null;
  /** Tokens according to the responses to the client. */
  clientTokens: number;
  /** Tokens of its seeded history on this UTC day. */
  seededTokens: number;
}

/** Deviations from the expected results as sentences; empty if all are correct. */
export function differences(agentName: string, seen: Seen): string[] {
  const expected = EXPECTED[agentName];
  if (expected === undefined) return [`${agentName} is not an agent of the demo`];
  const { row, gap } = seen;
  const issues = gap.issues.map(({ property }) => property).sort();
  const compared: [string, unknown, unknown][] = [
    ['phase', row.phase, expected.phase],
    ['grade', row.grade, expected.grade],
    ['score', row.score, expected.score],
    ['issues', issues.join(', '), expected.issues.join(', ')],
    ['evidence', row.evidence?.percent, expected.evidence],
    ['Compliant', `${row.compliant?.status} ${row.compliant?.reason}`, expected.compliant],
    ['tokens that the upstream counted', seen.upstreamTokens ?? seen.clientTokens, seen.clientTokens],
    ['tokens', row.tokens, (seen.upstreamTokens ?? seen.clientTokens) + seen.seededTokens],
  ];
  return compared
    .filter(([, found, wanted]) => found !== wanted)
    .map(([what, found, wanted]) => `${agentName}: ${what} is ${String(found)}, expected ${String(wanted)}`);
}
