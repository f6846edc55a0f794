/** Values of closed lists in several wire formats. Their order is that of error messages. */

/** Severities of issues and rules, from the most severe to the least. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The packs of compliance rules, in display order. */
export const PACKS = [
  'owasp-llm-top10',
  'model-resilience',
  'memory-hygiene',
  'evaluation-coverage',
  'observability',
  'metadata-quality',
] as const;
export type Pack = (typeof PACKS)[number];

export const GRADES = ['A', 'B', 'C', 'D', 'F'] as const;
export type Grade = (typeof GRADES)[number];

export const PHASES = ['Pending', 'Healthy', 'Degraded', 'Unhealthy', 'Unknown'] as const;
export type Phase = (typeof PHASES)[number];

/** Runtime that an agent declares at registration. */
export const RUNTIMES = ['k8s', 'docker', 'local', 'bedrock', 'vertex', 'other'] as const;
export type Runtime = (typeof RUNTIMES)[number];

/** `track`: denials are recorded. `enforce`: denied requests are rejected. `off`: requests are not evaluated. */
export const POLICY_MODES = ['track', 'enforce', 'off'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];
/** From the weakest to the strictest. */
export const MODES_BY_STRICTNESS: readonly PolicyMode[] = ['off', 'track', 'enforce'];
export const isWeaker = (mode: PolicyMode, other: PolicyMode): boolean =>
  MODES_BY_STRICTNESS.indexOf(mode) < MODES_BY_STRICTNESS.indexOf(other);

/** `manifest-static`: the agent reports nothing. `agent-sdk`: the agent reports its own checks. */
export const REPORT_SOURCES = ['manifest-static', 'agent-sdk'] as const;
export type ReportSource = (typeof REPORT_SOURCES)[number];

export const CHECK_SEVERITIES = ['error', 'warning', 'info'] as const;
export type CheckSeverity = (typeof CHECK_SEVERITIES)[number];

/** The categories of checks, which are the prefixes of their ids, with their severities. */
export const CATEGORY_SEVERITIES = {
  env: 'error',
  model: 'error',
  service: 'warning',
  memory: 'warning',
  mcp: 'warning',
  file: 'warning',
  secret: 'warning',
  tool: 'info',
  tracing: 'info',
} as const satisfies Record<string, CheckSeverity>;
export type CheckCategory = keyof typeof CATEGORY_SEVERITIES;

/** Where a proof was written: on the control plane with the admin key, or on port 4001 of a sidecar (the agent can reach it). */
export const PROOF_ORIGINS = ['control-plane', 'local'] as const;
export type ProofOrigin = (typeof PROOF_ORIGINS)[number];

/**
 * The kind of evidence for an item of the manifest. `probed`: a probe from the sidecar. `observed`: the traffic.
 * `proved`: a proof record. `reported`: only a report of the agent. `none`: no evidence.
 */
export const EVIDENCE_TIERS = ['probed', 'observed', 'proved', 'reported', 'none'] as const;
export type EvidenceTier = (typeof EVIDENCE_TIERS)[number];

/** Severities of the differences between two manifests. */
export const DRIFT_SEVERITIES = ['HIGH', 'MEDIUM', 'LOW'] as const;
export type DriftSeverity = (typeof DRIFT_SEVERITIES)[number];

export const ITEM_KINDS = [
  'model',
  'tool',
  'guardrail',
  'service',
  'memory',
  'mcp',
  'budget',
  'evaluation',
] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** The forms of test results that can be imported as proofs. */
export const EXTERNAL_TOOLS = ['promptfoo', 'garak', 'inspect', 'deepeval', 'sarif'] as const;
export type ExternalTool = (typeof EXTERNAL_TOOLS)[number];

export const SUPPRESSION_STATES = [
  /** The rule is excluded from the score. */
  'active',
  /** The suppression has expired, so the rule counts again. */
  'expired',
  /** `expires` is not a date, for example a reference, which an audit does not resolve. The rule counts. */
  'unreadable',
  /** The rule is not in an audited pack. */
  'outside',
  /** The rule does not exist. */
  'unknown',
  /** The manifest satisfies the rule, so nothing needs the suppression. The rule is excluded like an active one. */
  'unused',
] as const;
export type SuppressionState = (typeof SUPPRESSION_STATES)[number];

export const MATRIX_KINDS = ['model', 'tool', 'mcp', 'host', 'guardrail', 'tokens'] as const;
export type MatrixKind = (typeof MATRIX_KINDS)[number];

/** The results of comparing what is declared, reported and observed. */
export const VERDICTS = [
  'match',
  'undeclared',
  'unreported',
  'never-seen',
  'misreported',
  'unknown',
] as const;

export const CENSUS_STATES = ['off', 'on', 'refused'] as const;

/** Why the injector did not send the clients of a variable to a lane. */
export const NOT_REWRITTEN = ['reference', 'envfrom', 'absent', 'azure', 'other-upstream', 'set'] as const;
export type NotRewrittenReason = (typeof NOT_REWRITTEN)[number];

/** Every proxied request and every call through a lane has exactly one outcome. */
export const OUTCOMES = ['allow', 'deny', 'failOpen', 'notEvaluated'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What an audit event is about. */
export const EVENT_KINDS = [
  'request',
  'model',
  'tool',
  'connect',
  'finding',
  'admin',
  'lifecycle',
  'gap',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
