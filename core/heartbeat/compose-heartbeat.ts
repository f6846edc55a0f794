import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { AuditSummary } from '../audit/summary.ts';
import type { EvidenceReport } from '../evidence/evidence.ts';
import type { PolicyFacts } from '../facts/facts.ts';
import type { GapReport } from '../gap/gap.ts';
import type { HealthReport } from '../health/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { ProofRecord } from '../proof/proof.ts';
import type { UsageTotals, UsageWindow } from '../usage/usage.ts';
import type { Heartbeat, PolicyMode } from './heartbeat.ts';

/** What one heartbeat is made from. What a sender does not have it leaves out. */
export interface HeartbeatInput {
  instance: string;
  seq: number;
  /** The interval in force, in seconds. */
  intervalSeconds: number;
  at: Date;
  startedAt: Date;
  manifest: Manifest;
  manifestHash?: string | null;
  health: HealthReport;
  gap: GapReport;
  scoreWithoutLocalProofs?: number | null;
  evidence?: EvidenceReport | null;
  audit?: AuditSummary | null;
  proofs?: readonly ProofRecord[];
  /** The control plane's revision that was last taken over; 0 before the first, and for who keeps no proofs. */
  proofRevision?: number;
  usage?: UsageWindow | null;
  totals?: UsageTotals | null;
  outcomes?: OutcomeCounts | null;
  policyMode?: PolicyMode | null;
  policyState?: PolicyFacts['state'] | null;
  sidecarVersion?: string | null;
}

/** HeartbeatV1 from the reports of one moment. `expired` marks are left out: the receiver computes them. */
export function composeHeartbeat(input: HeartbeatInput): Heartbeat {
  const { provider, id } = input.manifest.spec.model;
  return {
    version: 1,
    instance: input.instance,
    seq: input.seq,
    intervalSeconds: input.intervalSeconds,
    sentAt: input.at.toISOString(),
    source: input.gap.source,
    health: input.health,
    gap: input.gap,
    scoreWithoutLocalProofs: input.scoreWithoutLocalProofs ?? null,
    evidence: input.evidence ?? null,
    audit: input.audit ?? null,
    proof: (input.proofs ?? []).map(({ expired: _, ...record }) => record),
    proofRevision: input.proofRevision ?? 0,
    usage: input.usage ?? null,
    totals: input.totals ?? null,
    outcomes: input.outcomes ?? null,
    policyMode: input.policyMode ?? null,
    policyState: input.policyState ?? null,
    manifestHash: input.manifestHash ?? null,
    model: { provider, id },
    sidecarVersion: input.sidecarVersion ?? null,
    startedAt: input.startedAt.toISOString(),
  };
}
