import type { CheckStatus } from '../facts/check.ts';
import type { AuditSummary } from '../shapes/audit.ts';
import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { EgressSummary } from '../shapes/egress.ts';
import type { EvidenceReport } from '../shapes/evidence.ts';
import type { Issue } from '../shapes/gap.ts';
import type { Grade, Phase, PolicyMode } from '../shapes/values.ts';
import type { PolicyFacts } from '../facts/facts.ts';
import type { DriftReason } from '../injection/drift.ts';
import type { HealthSummary, Check } from '../shapes/health.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import type { Tombstone } from '../proof/proof-set.ts';
import type { UsageWindow } from '../shapes/usage.ts';

export type ConditionType =
  | 'Ready'
  | 'Reporting'
  | 'AgentReachable'
  | 'ModelReachable'
  | 'Injected'
  | 'PolicyLoaded'
  | 'Routed'
  | 'Conflict'
  | 'ManifestValid'
  | 'SidecarFits'
  | 'Compliant';

/** A Kubernetes condition. `lastTransitionTime` changes only with `status`. */
export interface Condition {
  type: ConditionType;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  /** ISO 8601 without fractions of a second. */
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** The metadata of a Kubernetes object, as far as this product reads it. */
export interface ObjectMeta {
  name: string;
  /** Absent on cluster-scoped objects. */
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface AgentObservation {
  apiVersion: 'platform.io/v1';
  kind: 'AgentObservation';
  metadata: ObjectMeta & { namespace: string };
  spec: ObservationSpec;
  status?: ObservationStatus;
}

export interface ObservationSpec {
  /** Required for source sidecar, absent for remote. */
  agentRef?: { apiVersion: string; kind: string; name: string };
  source: 'sidecar' | 'remote';
  /** 10..3600; absent: the senders use their own interval. */
  heartbeatSeconds?: number;
}

/**
 * The status subresource. Lists are cut at the CRD's maxItems. All aggregates can be computed from `instances`, `unlisted` and
 * `departedToday`.
 */
export interface ObservationStatus {
  observedGeneration?: number;
  phase: Phase;
  grade?: Grade;
  /** For example `B (old)`: no instance reports, so the grade may no longer be true. Absent while one reports. */
  oldGrade?: string;
  score?: number;
  /** The worst of the last 24 hours by manifest, lowest score first. Absent: every report had a score of 100. */
  worst?: WorstReport[];
  source?: 'manifest-static' | 'agent-sdk';
  /** Tokens of the current UTC day over all instances, including removed ones. */
  tokens?: number;
  violations?: number;
  evidence?: ObservedEvidence;
  /** Compliance rules: scores of the instance with the lowest proved score, lists of `reportedBy`. */
  audit?: AuditSummary;
  /** What the lanes and the census of `reportedBy` observed. */
  egress?: EgressSummary;
  issues?: Issue[];
  issuesTotal?: number;
  checks?: Check[];
  proofs?: ProofRecord[];
  usage?: UsageWindow;
  outcomes?: OutcomeCounts;
  summary?: HealthSummary;
  model?: { provider: string; id: string; status?: CheckStatus; latencyMs?: number };
  policyMode?: PolicyMode;
  manifestHash?: string;
  agentId?: string;
  runtime?: string;
  tokenHashes?: TokenHash[];
  proofRevision?: number;
  proofTombstones?: Tombstone[];
  /** The worst fifty instances, sorted by name. */
  instances?: InstanceStatus[];
  /** Other instances with a recent heartbeat. They are counted but do not affect phase and score. */
  unlisted?: BriefInstance[];
  /** Absent: every instance is listed. */
  unlistedCount?: number;
  /**
   * Instance whose report is shown in `issues`, `checks`, the items of `evidence`, `egress`, `usage`, `summary`, `model` and
   * `source`: the worst instance, or for at most one interval the previous worst instance.
   */
  reportedBy?: string;
  departedToday?: DepartedToday;
  /** Time (ISO 8601) from which a new agent, or one that was idle, is expected to report. Absent while it reports or is idle. */
  awaitedSince?: string;
  /** By reason; absent: every live pod matches the current installation. */
  drift?: Drift[];
  instanceCount?: number;
  /** Time (ISO 8601) at which the report of the worst instance was received. */
  lastChecked?: string;
  conditions?: Condition[];
}

/** The worst that the instances with one manifest reported in the last 24 hours. Stays when they restart. */
export interface WorstReport {
  /** Absent: the senders report no hash. */
  manifestHash?: string;
  score: number;
  grade: Grade;
  /** Time (ISO 8601) of the last report with this score. */
  at: string;
  /** The latest come first. */
  criticalIssues: CriticalIssue[];
}

export interface CriticalIssue {
  property: string;
  /** Time (ISO 8601) of the last report with this issue. */
  at: string;
}

/** Evidence for the declared items: numbers of the instance with the least evidence, items of `reportedBy`. */
export interface ObservedEvidence extends Omit<EvidenceReport, 'shownWithoutLocalProofs'> {
  /** `shown` of `declared`, rounded down. */
  percent: number;
}

/** Tokens and cost of one UTC day. */
export interface DayUse {
  tokens: number;
  costUsd: number;
}

/** Usage on one UTC day by processes that no longer exist. */
export interface DepartedToday extends DayUse {
  /** YYYY-MM-DD */
  day: string;
  /** The most recent of these processes. If one of them reports again, its part is removed from the totals. */
  instances?: DepartedInstance[];
}

export interface DepartedInstance extends DayUse, Pick<BriefInstance, 'name' | 'uid' | 'startedAt'> {}

/** Live pods that do not match the current installation. */
export interface Drift {
  reason: DriftReason;
  pods: number;
  /** Name of the first of these pods, sorted by name. */
  example: string;
}

/** A valid registration key of a remote agent. A key that is not listed is rejected. */
export interface TokenHash {
  /** Of the id of the key. */
  hash: string;
  expiresAt: string;
}

/** The counters of an instance. */
export interface BriefInstance {
  /** Pod name, or the instance name of a remote agent. */
  name: string;
  uid?: string;
  startedAt: string;
  seq: number;
  /** ISO 8601 */
  lastHeartbeat: string;
  intervalSeconds: number;
  tokensToday: number;
  costTodayUsd: number;
  /** UTC day (YYYY-MM-DD) of the two totals above. */
  day: string;
  /** Cumulative since `startedAt`. */
  outcomes?: OutcomeCounts;
}

/** Evidence of one instance, without the list of items. */
export interface InstanceEvidence extends Omit<EvidenceReport, 'items'> {
  /** The first items without evidence. */
  notShown: string[];
}

export interface InstanceStatus extends BriefInstance {
  phase: Phase;
  score: number;
  /** The score without local proofs; absent: no local proof counts in the score. */
  scoreWithoutLocalProofs?: number;
  /** The sidecar does not report whether local proofs count in the score. */
  localProofsUnknown?: true;
  sidecarVersion?: string;
  /** Absent: not reported. */
  manifestHash?: string;
  /** Number of distinct `policy.*` denials in the last gap report. */
  violations: number;
  criticalIssues: number;
  /** Absent: not reported (sidecar 0.1.0). */
  evidence?: InstanceEvidence;
  /** Absent: not reported. */
  audit?: Pick<AuditSummary, 'declared' | 'proved'>;
  /** The last gap report has the issue `reporter.invalid`. */
  reporterInvalid?: true;
  /** Absent: unknown. */
  agentReachable?: boolean;
  modelStatus?: CheckStatus;
  policyState?: PolicyFacts['state'];
  /** Number of requests that the policy denied between the last two heartbeats. */
  deniedInWindow: number;
}
