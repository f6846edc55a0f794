import { dirname } from 'node:path';
import { audit } from '../../core/audit/audit.ts';
import { auditSummaryOf } from '../../core/audit/summary.ts';
import type { AuditSummary } from '../../core/shapes/audit.ts';
import { reportedCallsIn, reportedCountsOf } from '../../core/facts/reported-calls.ts';
import { servingOf, summarizeBehavior } from '../../core/behavior/summarize-behavior.ts';
import type { EvidenceReport } from '../../core/shapes/evidence.ts';
import { evidenceOf } from '../../core/evidence/evidence-of.ts';
import { guardrailsSeen, sightingsInFacts } from '../../core/facts/sightings.ts';
import type { EgressFacts } from '../../core/facts/egress-facts.ts';
import type { Facts } from '../../core/facts/facts.ts';
import { assess } from '../../core/gap/assess.ts';
import type { GapReport } from '../../core/shapes/gap.ts';
import { scoreWithoutLocalProofs } from '../../core/gap/score-without-local-proofs.ts';
import { check } from '../../core/health/check.ts';
import type { HealthReport } from '../../core/shapes/health.ts';
import type { AnalysisState } from '../../core/shapes/analysis-state.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { isTrusted } from '../../core/evidence/counted-proofs.ts';
import { probeAgentUsage } from '../../probe/agent.ts';
import { gather, NO_AGENT, queryPolicy, type AgentEnvironment, type Observed } from '../../probe/gather.ts';
import { inForceOf } from '../../probe/in-force.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { SidecarConfig } from '../config.ts';
import type { GapReviews } from '../llm/create-llm-analysis.ts';
import type { CurrentManifest } from '../manifest/current-manifest.ts';
import { ownPortsOf } from '../own-ports.ts';
import type { PolicyEvaluator } from '../policy/policy-evaluator.ts';
import type { ProofStore } from '../proofs/proof-store.ts';
import { UsageGrowth } from '../usage/usage-growth.ts';
import { SharedRun } from './shared-run.ts';

/** The facts of one probe run and the reports derived from them. Every route and heartbeat uses one assessment. */
export interface Assessment {
  manifest: Manifest;
  manifestHash: string;
  facts: Facts;
  health: HealthReport;
  /** With the known issues of the LLM analysis, which do not change the score. */
  gap: GapReport;
  llm: AnalysisState;
  /** The gap score without local proofs; equal to the gap score if no local proof counts. */
  scoreWithoutLocalProofs: number;
  /** The evidence for manifest declarations in the last 24 hours. */
  evidence: EvidenceReport;
  audit: AuditSummary;
}

export interface AssessorOptions {
  config: SidecarConfig;
  environment: AgentEnvironment;
  manifest: CurrentManifest;
  proofs: ProofStore;
  audit: AuditLog;
  policy: PolicyEvaluator;
  /** What lanes and census observed; absent: this process has neither. */
  egress?: () => EgressFacts | null;
  llm: GapReviews;
  /** Receives each assessment with new probes. */
  onAssessed?: (assessment: Assessment) => void;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
}

/** Less than the probes of a report take at most. */
const USAGE_MS = 5_000;

/** Makes assessments on demand. Concurrent callers share one run. */
export class Assessor {
  /** The latest assessment. */
  latest: Assessment | null = null;
  readonly #options: AssessorOptions;
  readonly #assessing = new SharedRun(() => this.#run());
  /** The assessment to whose probes the agent last responded; null: it was never probed. */
  #live: Assessment | null = null;
  /** Monotonic time of the latest assessment. */
  #latestAtMs = -Infinity;
  #hasInvalidReport = false;
  readonly #usage: UsageGrowth;

  constructor(options: AssessorOptions) {
    this.#options = options;
    this.#usage = new UsageGrowth(options.clock.now());
  }

  /** Takes up to six seconds if the agent hangs; rejects only when the process stops. */
  assess(): Promise<Assessment> {
    return this.#assessing.join();
  }

  /** The latest assessment if it is younger than `maxAgeMs`, so that clients cannot trigger a probe run per request. */
  async assessWithin(maxAgeMs: number): Promise<Assessment> {
    const isRecent = this.#options.clock.monotonicMs() - this.#latestAtMs < maxAgeMs;
    return this.latest !== null && isRecent ? this.latest : this.assess();
  }

  /** A run that starts after this call, for callers that know of a change. */
  assessNow(): Promise<Assessment> {
    return this.#assessing.startNew();
  }

  /**
   * After the end of the agent: its endpoints as it last responded, with all that was observed until now. Of an agent that never
   * listened, such as a script, no endpoint counts.
   */
  async assessEnded(): Promise<Assessment> {
    // A run that began before the end may have received the agent's last responses.
    await this.#assessing.current();
    const live = this.#live ?? (await this.assess());
    const { facts } = live;
    return this.#renewed(hasListened(facts) ? live : { ...live, facts: { ...facts, ...NO_AGENT } });
  }

  /** The probes of the latest assessment with all that was observed until now, for a sidecar that stops with its agent. */
  async assessStopping(): Promise<Assessment> {
    return this.latest === null ? this.assess() : this.#renewed(this.latest);
  }

  async #run(): Promise<Assessment> {
    const { audit: log, clock } = this.#options;
    const { manifest, hash: manifestHash, invalid } = this.#options.manifest;
    await this.compareProofs();
    const [facts] = await Promise.all([this.#gather(manifest, invalid), this.#noteUsage()]);
    this.#noteReport(facts.invalidReport);
    log.seen.note(sightingsInFacts(facts));
    const assessment = this.#assessed({ manifest, manifestHash, facts });
    this.latest = assessment;
    this.#latestAtMs = clock.monotonicMs();
    this.#options.onAssessed?.(assessment);
    // An agent that is about to end responds to fewer probes than before.
    if (responsesIn(facts) >= responsesIn(this.#live?.facts ?? null)) this.#live = assessment;
    return assessment;
  }

  /** Compares the proofs with the values in force now. */
  async compareProofs(): Promise<void> {
    const { proofs, environment, config, clock } = this.#options;
    if (!proofs.hasBound) return;
    const { manifest, hash } = this.#options.manifest;
    const isShared = environment.kind === 'own';
    const sources = {
      env: isShared ? environment.variables : null,
      folder: dirname(config.MANIFEST_PATH),
      secretDir: null,
      now: () => clock.now(),
    };
    proofs.compareWith(await inForceOf({ manifest, hash, sources, isShared }));
  }

  async #renewed(assessment: Assessment): Promise<Assessment> {
    const { policy, clock, signal } = this.#options;
    const query = policy.hasEngine ? () => policy.facts(this.#options.audit.ring.newest()) : undefined;
    const response = await queryPolicy(query, signal);
    const facts = { ...assessment.facts, ...this.#observed(), policy: response, at: clock.now() };
    return this.#assessed({ ...assessment, facts });
  }

  #assessed({
    manifest,
    manifestHash,
    facts,
  }: Pick<Assessment, 'manifest' | 'manifestHash' | 'facts'>): Assessment {
    const { config, audit: log, llm } = this.#options;
    const gap = assess(manifest, facts);
    const health = check(manifest, facts);
    const seen = log.seen.times;
    const { at, proofs } = facts;
    const audited = audit(manifest, {
      evidence: {
        checks: health.checks,
        guardrailsObserved: guardrailsSeen(seen, at),
        proofs,
        trust: { writes: config.PROOF_WRITES },
      },
      at,
    });
    return {
      ...{ manifest, manifestHash, facts, health },
      ...llm.review(manifest, facts, gap),
      scoreWithoutLocalProofs: scoreWithoutLocalProofs(manifest, facts, gap),
      evidence: evidenceOf({ manifest, seen, ...facts }),
      audit: auditSummaryOf(audited),
    };
  }

  #observed(): Observed {
    const { audit: log, egress } = this.#options;
    const entries = log.ring.newest();
    return {
      behavior: {
        ...summarizeBehavior(entries),
        ...servingOf(entries, this.#options.manifest.manifest.spec.api?.healthEndpoint),
        requestsWithout: log.requestsWithoutBehavior,
      },
      reported: {
        ...reportedCallsIn(entries),
        calls: reportedCountsOf(entries, log.reportedAlone, this.#usage.calls),
      },
      ...(egress && { egress: egress() }),
    };
  }

  #gather(manifest: Manifest, manifestInvalid: Facts['manifestInvalid']): Promise<Facts> {
    const { config, environment, proofs, audit: log, policy, clock, signal } = this.#options;
    return gather({
      ...{ manifest, manifestInvalid, environment, signal },
      upstreamUrl: config.UPSTREAM_URL,
      // A manifest must not direct probes to the sidecar itself.
      ownPorts: ownPortsOf(config),
      now: () => clock.now(),
      observed: () => this.#observed(),
      ...(policy.hasEngine && { policy: () => policy.facts(log.ring.newest()) }),
      proofs: proofs.list().filter((proof) => isTrusted(proof, { writes: config.PROOF_WRITES })),
      podAgentName: config.AGENT_NAME,
    });
  }

  /** The usage that the agent reports is compared only with lanes. One that responds late counts in the next report. */
  async #noteUsage(): Promise<void> {
    const { config, signal } = this.#options;
    if (config.EGRESS_LANES !== null)
      this.#usage.note(
        await probeAgentUsage(config.UPSTREAM_URL, AbortSignal.any([signal, AbortSignal.timeout(USAGE_MS)])),
      );
  }

  /** Logs one line per change of state. */
  #noteReport(invalid: Facts['invalidReport']): void {
    const { logger } = this.#options;
    if ((invalid !== null) === this.#hasInvalidReport) return;
    this.#hasInvalidReport = invalid !== null;
    if (invalid === null) logger.info('agent health report no longer invalid');
    else logger.warn('agent health report invalid', { ...invalid });
  }
}

/** The number of probes to which the agent responded; -1: it was not probed. */
function responsesIn(facts: Facts | null): number {
  if (facts === null) return -1;
  const { health, capabilities, agentCard, agentReport, invalidReport } = facts;
  const responses = [health, capabilities, agentCard].filter((response) => response?.answered === true);
  return responses.length + Number((agentReport ?? invalidReport) !== null) + Number(hasListened(facts));
}

/** Whether the agent's port accepted a connection. */
export const hasListened = ({ upstream }: Pick<Facts, 'upstream'>): boolean =>
  upstream?.state === 'reachable';
