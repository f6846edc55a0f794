import type { JudgedSuppression } from '../audit/suppressions.ts';
import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { EvidenceItem } from '../evidence/evidence.ts';
import type { Grade, Issue } from '../gap/gap.ts';
import type { PolicyFacts } from '../facts/facts.ts';
import type { DriftReason } from '../injection/drift.ts';
import type { Check, CheckStatus, HealthSummary } from '../health/health.ts';
import type { PolicyMode } from '../heartbeat/heartbeat.ts';
import type { ProofOrigin, ProofRecord } from '../proof/proof.ts';
import type { UsageWindow } from '../usage/usage.ts';

export type Phase = 'Pending' | 'Healthy' | 'Degraded' | 'Unhealthy' | 'Unknown';

export type ConditionType =
  | 'Ready'
  | 'Reporting'
  | 'AgentReachable'
  | 'ModelReachable'
  | 'Injected'
  | 'PolicyLoaded'
  | 'Routed'
  | 'Conflict'
  | 'Compliant';

/** A Kubernetes condition; lastTransitionTime moves only when status changes. */
export interface Condition {
  type: ConditionType;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  /** ISO 8601, seconds. */
  lastTransitionTime: string;
  observedGeneration?: number;
}

export interface AgentObservation {
  apiVersion: 'platform.io/v1';
  kind: 'AgentObservation';
  metadata: ObservationMetadata;
  spec: ObservationSpec;
  status?: ObservationStatus;
}

export interface ObservationMetadata {
  name: string;
  namespace: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
    controller?: boolean;
    blockOwnerDeletion?: boolean;
  }[];
}

export interface ObservationSpec {
  /** Required for source sidecar, absent for remote. */
  agentRef?: { apiVersion: string; kind: string; name: string };
  source: 'sidecar' | 'remote';
  /** 10..3600; absent: the senders keep their own. */
  heartbeatSeconds?: number;
}

/** The status subresource; lists are cut at the CRD's maxItems. Every aggregate can be computed from `instances`, `unlisted` and `departedToday` alone. */
export interface ObservationStatus {
  observedGeneration?: number;
  phase: Phase;
  grade?: Grade;
  score?: number;
  source?: 'manifest-static' | 'agent-sdk';
  /** Tokens of the current UTC day over all instances, gone ones too. */
  tokens?: number;
  violations?: number;
  evidence?: ObservedEvidence;
  audit?: ObservedAudit;
  issues?: Issue[];
  issuesTotal?: number;
  checks?: Check[];
  proofs?: ProofRecord[];
  usage?: UsageWindow;
  outcomes?: OutcomeCounts;
  summary?: HealthSummary;
  model?: { provider: string; id: string; status?: 'pass' | 'fail' | 'skip'; latencyMs?: number };
  policyMode?: PolicyMode;
  manifestHash?: string;
  agentId?: string;
  runtime?: string;
  tokenHashes?: TokenHash[];
  proofRevision?: number;
  proofTombstones?: { ruleId: string; origin?: ProofOrigin; at: string }[];
  /** The worst fifty, by name. */
  instances?: InstanceStatus[];
  /** The others that were heard from lately; they count, and say nothing of phase and score. */
  unlisted?: BriefInstance[];
  /** Absent: every instance is listed. */
  unlistedCount?: number;
  /** The instance whose report `issues`, `checks`, the items of `evidence`, `usage`, `summary`, `model` and `source` show: the worst one, or for at most one interval the one that was it. */
  reportedBy?: string;
  departedToday?: DepartedToday;
  /** ISO 8601; when an agent that rested was expected to report again. Absent while it reports or rests. */
  awaitedSince?: string;
  /** By reason; absent: every live pod is as the present installation would make it. */
  drift?: Drift[];
  instanceCount?: number;
  /** ISO 8601; when the worst instance's report was received. */
  lastChecked?: string;
  conditions?: Condition[];
}

/** How much of what the manifest declares was shown: the numbers of the instance with the least, the items of `reportedBy`. */
export interface ObservedEvidence {
  /** `shown` of `declared`, rounded down. */
  percent: number;
  shown: number;
  declared: number;
  /** Items that the agent alone reports. */
  reported: number;
  items: EvidenceItem[];
}

/** The compliance rules: the scores of the instance with the lowest proved one, the lists of `reportedBy`. */
export interface ObservedAudit {
  declared: number;
  proved: number;
  failed: string[];
  suppressions: JudgedSuppression[];
}

/** Use of one UTC day by processes that are gone. */
export interface DepartedToday {
  /** YYYY-MM-DD */
  day: string;
  tokens: number;
  costUsd: number;
  /** The last of them: when a report of one comes late, its part is taken out again. */
  instances?: DepartedInstance[];
}

export interface DepartedInstance {
  name: string;
  uid?: string;
  startedAt: string;
  tokens: number;
  costUsd: number;
}

/** Live pods that the present installation would make differently. */
export interface Drift {
  reason: DriftReason;
  pods: number;
  /** One of them, the first by name. */
  example: string;
}

export interface TokenHash {
  hash: string;
  expiresAt: string;
}

/** An instance as far as it is counted. */
export interface BriefInstance {
  /** Pod name, or a remote agent's instance. */
  name: string;
  uid?: string;
  startedAt: string;
  seq: number;
  /** ISO 8601 */
  lastHeartbeat: string;
  intervalSeconds: number;
  tokensToday: number;
  costTodayUsd: number;
  /** UTC day (YYYY-MM-DD) of the two totals. */
  day: string;
  /** Cumulative since `startedAt`. */
  outcomes?: OutcomeCounts;
}

/** Evidence of one instance, without its items. */
export interface InstanceEvidence {
  shown: number;
  declared: number;
  reported: number;
  /** Absent: no local proof counts. */
  shownWithoutLocalProofs?: number;
  /** The first items without evidence. */
  notShown: string[];
}

export interface InstanceStatus extends BriefInstance {
  phase: Phase;
  score: number;
  /** The score without local proofs; absent: no local proof counts in the score. */
  scoreWithoutLocalProofs?: number;
  /** Its sidecar does not say whether local proofs count in the score. */
  localProofsUnknown?: true;
  sidecarVersion?: string;
  /** Distinct `policy.*` denials in its last gap. */
  violations: number;
  criticalIssues: number;
  /** Absent: its sender has none, as a sidecar of 0.1.0. */
  evidence?: InstanceEvidence;
  /** Absent: its sender has none. */
  audit?: { declared: number; proved: number };
  /** The last gap has the issue `reporter.invalid`. */
  reporterInvalid?: true;
  /** Absent: not known. */
  agentReachable?: boolean;
  modelStatus?: CheckStatus;
  policyState?: PolicyFacts['state'];
  /** Requests that the policy denied between its last two heartbeats. */
  deniedInWindow: number;
}
