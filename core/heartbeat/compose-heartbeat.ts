import type { PolicyMode } from '../policy/engine.ts';
import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { AuditSummary } from '../audit/summary.ts';
import type { EvidenceReport } from '../evidence/evidence.ts';
import type { PolicyFacts } from '../facts/facts.ts';
import type { GapReport } from '../gap/gap.ts';
import type { HealthReport } from '../health/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { ProofRecord } from '../proof/proof.ts';
import type { UsageTotals, UsageWindow } from '../usage/usage.ts';
import type { Heartbeat } from './heartbeat.ts';

/** Input of one heartbeat. A sender leaves out the members that it does not have. */
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
  /** Last proof revision applied from the control plane; 0 before the first one, and for a sender without proofs. */
  proofRevision?: number;
  usage?: UsageWindow | null;
  totals?: UsageTotals | null;
  outcomes?: OutcomeCounts | null;
  policyMode?: PolicyMode | null;
  policyState?: PolicyFacts['state'] | null;
  sidecarVersion?: string | null;
}

/** Composes a HeartbeatV1 from reports of the same time. `expired` is left out, because the receiver computes it. */
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
