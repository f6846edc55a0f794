import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { AuditSummary } from '../audit/summary.ts';
import type { EgressReport } from '../egress/report.ts';
import type { EvidenceReport } from '../evidence/evidence.ts';
import type { PolicyFacts } from '../facts/facts.ts';
import type { GapReport } from '../gap/gap.ts';
import type { HealthReport } from '../health/health.ts';
import type { PolicyMode } from '../shapes/values.ts';
import type { ProofRecord } from '../proof/proof.ts';
import type { UsageTotals, UsageWindow } from '../usage/usage.ts';

/** HeartbeatV1, sent by a sidecar or a reporter. `health` and `gap` are required; parse-heartbeat sets defaults for the rest. */
export interface Heartbeat {
  version: 1;
  /** The pod name, or another name that is unique among the instances of the agent. */
  instance: string;
  /**
   * Increases by one with each heartbeat of a process. Together with `instance` and `startedAt` it makes a push idempotent.
   * null: not numbered, every push counts as new.
   */
  seq: number | null;
  intervalSeconds: number;
  /** ISO 8601; null: not reported. */
  sentAt: string | null;
  source: GapReport['source'];
  health: HealthReport;
  gap: GapReport;
  /** Gap score without local proofs; null: not reported (sidecar 0.1.0, or a sender without proofs). */
  scoreWithoutLocalProofs: number | null;
  /** Evidence of the last 24 hours; null: not reported (a sender version without evidence). */
  evidence: EvidenceReport | null;
  /** null: not reported. */
  audit: AuditSummary | null;
  /** What lanes and census observed; null: the sender has neither. */
  egress: EgressReport | null;
  proof: ProofRecord[];
  proofRevision: number;
  usage: UsageWindow | null;
  /** null: the sender keeps no totals, so its usage windows of the UTC day are summed. */
  totals: UsageTotals | null;
  /** Cumulative since `startedAt`; null: the sender is not a proxy. */
  outcomes: OutcomeCounts | null;
  /** Distinct reasons of the denials since the previous heartbeat, on the proxy and on the lanes; null: not reported. */
  denials: string[] | null;
  policyMode: PolicyMode | null;
  /** State of the policy engine when the gap was computed; null: not reported. */
  policyState: PolicyFacts['state'] | null;
  manifestHash: string | null;
  model: { provider: string; id: string } | null;
  sidecarVersion: string | null;
  /** Start of the sending process, ISO 8601; null: not reported, so restarts are not detected. */
  startedAt: string | null;
}

/** Body of a 200 response to a heartbeat. Absent members are left out on the wire. A 204 response is the empty reply. */
export interface HeartbeatReply {
  proof?: ProofRecord[];
  proofRevision?: number;
  othersToday?: { tokens: number; costUsd: number };
  intervalSeconds?: number;
}
