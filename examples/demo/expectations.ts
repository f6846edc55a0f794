import type { AgentRow, ShownGap } from './control-plane-client.ts';

export interface Expectation {
  phase: string;
  grade: string;
  score: number;
  /** Percent of the declared items. */
  evidence: number;
  /** Status and reason of the condition Compliant. */
  compliant: string;
  /** The properties that cost the points, sorted. */
  issues: readonly string[];
}

/** What the agents are made to get; the worked figures of docs/scoring apply. */
export const EXPECTED: Readonly<Record<string, Expectation>> = {
  compliant: {
    ...{ phase: 'Healthy', grade: 'A', score: 100, issues: [] },
    ...{ evidence: 61, compliant: 'True Compliant' },
  },
  silent: {
    ...{ phase: 'Healthy', grade: 'A', score: 100, issues: [] },
    ...{ evidence: 22, compliant: 'Unknown NotShown' },
  },
  lying: {
    ...{ phase: 'Healthy', grade: 'A', score: 100, issues: [] },
    ...{ evidence: 45, compliant: 'Unknown NotShown' },
  },
  gappy: {
    phase: 'Degraded',
    grade: 'C',
    score: 65,
    ...{ evidence: 40, compliant: 'False GradeTooLow' },
    issues: ['auditable', 'evaluated', 'service:orders-db'],
  },
  misbehaving: {
    phase: 'Healthy',
    grade: 'F',
    score: 30,
    ...{ evidence: 56, compliant: 'False GradeTooLow' },
    issues: [
      'discoverable.send_report',
      'guardrails.input.pii-detector',
      'guardrails.output.toxicity-filter',
      'policy.pii_detector_not_invoked',
      'tool:send_report',
    ],
  },
};

/** Everything that one agent's row was made from. */
export interface Seen {
  row: AgentRow;
  gap: ShownGap;
  /** As the agent's own reporter counted them; null: it has none. */
  upstreamTokens: number | null;
  /** As the answers told the client. */
  clientTokens: number;
}

/** What is not as it should be, in sentences; empty when every number is right. */
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
    ['tokens', row.tokens, seen.upstreamTokens ?? seen.clientTokens],
  ];
  return compared
    .filter(([, found, wanted]) => found !== wanted)
    .map(([what, found, wanted]) => `${agentName}: ${what} is ${String(found)}, not ${String(wanted)}`);
}
