import type { Check } from '../../core/shapes/health.ts';
import type { GapReport, Issue } from '../../core/shapes/gap.ts';

/** What the seeded heartbeats of an agent report. */
export interface AgentPast {
  source: GapReport['source'];
  tokensPerBeat: number;
  issues(minutesAgo: number): readonly Issue[];
  checks?(minutesAgo: number): readonly Check[];
  /** Each request is a violation of the policy. */
  denied?: true;
}

const issue = (severity: Issue['severity'], property: string, texts: [string, string]): Issue => ({
  severity,
  property,
  description: texts[0],
  recommendation: texts[1],
});

const guardrail = (severity: Issue['severity'], where: string, type: string): Issue =>
  issue(severity, `guardrails.${where}.${type}`, [
    `The declared guardrail ${type} was not observed in all requests with behavioral data.`,
    `Run ${type} on every request and report it in X-Platform-Guardrails-Invoked, or remove it from spec.guardrails.${where}.`,
  ]);

const AUDITABLE = issue('medium', 'auditable', [
  'The manifest declares no guardrails, so the use of guardrails cannot be audited.',
  'Declare the guardrails of the agent in spec.guardrails.',
]);
const EVALUATED = issue('low', 'evaluated', [
  'The manifest declares an evaluation without a proof that it was run.',
  'Run the evaluation and submit the proof EVAL-01.',
]);
const DATABASE = issue('high', 'service:orders-db', [
  "The agent's check service:orders-db failed: connection refused.",
  'Start the service, or correct its address in spec.requires.services.',
]);
const CONTRADICTED_SERVICE = issue('medium', 'service:orders-db', [
  'The agent reports service:orders-db as reachable, and the sidecar cannot reach it: connection refused.',
  'Start the service, or correct its address in spec.requires.services.',
]);
const OTHER_MODEL = issue('high', 'model.undeclared.gpt-4o-mini', [
  'Responses or reports of the agent name the model gpt-4o-mini, which the manifest does not declare.',
  'Let the agent call gpt-4o, or declare gpt-4o-mini in spec.egress.models.',
]);
const OTHER_TOOL = issue('high', 'tools.undeclared.refund_order', [
  'The agent reports calls of the tool refund_order, which the manifest does not declare.',
  'Declare refund_order in spec.tools or spec.egress.tools, or remove it from the agent.',
]);
const TOOL_NOT_LISTED = issue('medium', 'discoverable.send_report', [
  'The tool send_report is declared, but GET /capabilities does not list it.',
  "List send_report in the agent's /capabilities, or remove it from spec.tools.",
]);
const TOOL_NOT_SHOWN = issue('medium', 'tool:send_report', [
  "tool:send_report is declared, but the agent's report does not contain this check.",
  "Configure the agent's reporter with this manifest so that it checks tool:send_report.",
]);
const TOOL_NOT_DECLARED = issue('critical', 'tools.undeclared.delete_all_orders', [
  'The egress lanes observed the tool delete_all_orders, which the manifest does not declare.',
  'Declare the tool in spec.tools or spec.egress.tools, or remove it from the agent.',
]);
const PII_DENIED: Issue = {
  ...issue('high', 'policy.pii_detector_not_invoked', [
    'The policy engine denies the observed behavior: pii_detector_not_invoked.',
    'Run the pii-detector on every request.',
  ]),
  source: 'policy',
};

const database = (status: Check['status']): Check => ({
  id: 'service:orders-db',
  category: 'service',
  status,
  severity: 'warning',
  ...(status === 'fail' && { message: 'connection refused' }),
});

/** The past of each agent ends with the state that the demo finds, so that nothing jumps when its sidecar takes over. */
export const PASTS: Readonly<Record<string, AgentPast>> = {
  compliant: {
    source: 'agent-sdk',
    tokensPerBeat: 40,
    issues: (minutesAgo) => (minutesAgo > 6 ? [guardrail('low', 'output', 'toxicity-filter')] : []),
  },
  python: { source: 'agent-sdk', tokensPerBeat: 30, issues: () => [] },
  silent: { source: 'manifest-static', tokensPerBeat: 20, issues: () => [] },
  lying: {
    source: 'agent-sdk',
    tokensPerBeat: 20,
    issues: (minutesAgo) => (minutesAgo > 5 ? [CONTRADICTED_SERVICE] : [OTHER_MODEL, CONTRADICTED_SERVICE]),
  },
  gappy: {
    source: 'agent-sdk',
    tokensPerBeat: 20,
    issues: (minutesAgo) => [...(minutesAgo > 4 ? [] : [DATABASE]), OTHER_TOOL, AUDITABLE, EVALUATED],
    checks: (minutesAgo) => [database(minutesAgo > 4 ? 'pass' : 'fail')],
  },
  misbehaving: {
    source: 'agent-sdk',
    tokensPerBeat: 20,
    denied: true,
    issues: (minutesAgo) => [
      TOOL_NOT_LISTED,
      TOOL_NOT_SHOWN,
      ...(minutesAgo > 7 ? [] : [guardrail('medium', 'output', 'toxicity-filter')]),
      ...(minutesAgo > 3 ? [] : [guardrail('high', 'input', 'pii-detector'), PII_DENIED]),
      ...(minutesAgo > 1 ? [] : [TOOL_NOT_DECLARED]),
    ],
  },
};
