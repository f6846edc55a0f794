import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { AuditSummary } from '../audit/summary.ts';
import type { EvidenceReport } from '../evidence/evidence.ts';
import type { PolicyFacts } from '../facts/facts.ts';
import type { GapReport } from '../gap/gap.ts';
import type { HealthReport } from '../health/health.ts';
import type { ProofRecord } from '../proof/proof.ts';
import type { UsageTotals, UsageWindow } from '../usage/usage.ts';

export type PolicyMode = 'track' | 'enforce' | 'off';
export const POLICY_MODES: readonly PolicyMode[] = ['track', 'enforce', 'off'];

/** HeartbeatV1: what a sidecar or a reporter pushes. `health` and `gap` are required; parse-heartbeat fills the rest. */
export interface Heartbeat {
  version: 1;
  /** The pod's name, or whatever tells one instance of the agent from another. */
  instance: string;
  /** Grows by one per heartbeat of one process start; with instance and startedAt it makes a push idempotent. null: not numbered, each push is new. */
  seq: number | null;
  intervalSeconds: number;
  /** ISO 8601; null: not reported. */
  sentAt: string | null;
  source: GapReport['source'];
  health: HealthReport;
  gap: GapReport;
  /** The score of the gap without local proofs; null: not reported, as by a sidecar of 0.1.0 and by a sender without proofs. */
  scoreWithoutLocalProofs: number | null;
  /** What of the manifest was shown in the last 24 hours; null: the sender has none, as a version without evidence. */
  evidence: EvidenceReport | null;
  /** null: the sender has none. */
  audit: AuditSummary | null;
  proof: ProofRecord[];
  proofRevision: number;
  usage: UsageWindow | null;
  /** null: the sender keeps no totals; then its usage windows of the UTC day are counted. */
  totals: UsageTotals | null;
  /** Cumulative since `startedAt`; null: the sender proxies nothing. */
  outcomes: OutcomeCounts | null;
  policyMode: PolicyMode | null;
  /** Verdict of the policy engine when the gap was computed; null: not reported. */
  policyState: PolicyFacts['state'] | null;
  manifestHash: string | null;
  model: { provider: string; id: string } | null;
  sidecarVersion: string | null;
  /** ISO 8601, start of the sending process; null: not reported, and a restart is not noticed. */
  startedAt: string | null;
}

/** The 200 body of a heartbeat; null members are left out on the wire. A 204 is the empty reply. */
export interface HeartbeatReply {
  proof?: ProofRecord[];
  proofRevision?: number;
  othersToday?: { tokens: number; costUsd: number };
  intervalSeconds?: number;
}
