import { summarizeBehavior } from '../../core/behavior/summarize-behavior.ts';
import type { Facts } from '../../core/facts/facts.ts';
import { assess } from '../../core/gap/assess.ts';
import type { GapReport } from '../../core/gap/gap.ts';
import { check } from '../../core/health/check.ts';
import type { HealthReport } from '../../core/health/health.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { gather, type AgentEnvironment } from '../../probe/gather.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AuditRing } from '../audit/ring.ts';
import type { CurrentManifest } from '../manifest/current-manifest.ts';
import type { PolicyDesk } from '../policy/policy-desk.ts';
import type { ProofStore } from '../proofs/proof-store.ts';
import { SharedRun } from './shared-run.ts';

/** What one probe run found, and what follows from it. Every surface shows one of these. */
export interface Assessment {
  manifest: Manifest;
  manifestHash: string;
  facts: Facts;
  health: HealthReport;
  gap: GapReport;
}

export interface AssessorOptions {
  upstreamUrl: URL;
  environment: AgentEnvironment;
  podAgentName: string | null;
  manifest: CurrentManifest;
  proofs: ProofStore;
  ring: AuditRing;
  policy: PolicyDesk;
  clock: Clock;
  signal: AbortSignal;
}

/** Makes assessments on demand. Whoever asks while one is under way gets that one. */
export class Assessor {
  readonly #options: AssessorOptions;
  readonly #assessing = new SharedRun(() => this.#run());
  #latest: Assessment | null = null;

  constructor(options: AssessorOptions) {
    this.#options = options;
  }

  /** The last one that was made. */
  get latest(): Assessment | null {
    return this.#latest;
  }

  /** Takes up to six seconds where the agent hangs; rejects only when the process stops. */
  assess(): Promise<Assessment> {
    return this.#assessing.join();
  }

  /** One that begins after this call, for who knows of a change. */
  assessAnew(): Promise<Assessment> {
    return this.#assessing.anew();
  }

  async #run(): Promise<Assessment> {
    const { upstreamUrl, environment, podAgentName, proofs, ring, policy, clock, signal } = this.#options;
    const { manifest, hash: manifestHash, invalid } = this.#options.manifest;
    const entries = ring.newest();
    const facts = await gather({
      manifest,
      upstreamUrl,
      environment,
      now: () => clock.now(),
      behavior: summarizeBehavior(entries),
      ...(policy.hasEngine && { policy: () => policy.facts(entries) }),
      proofs: proofs.list(),
      podAgentName,
      manifestInvalid: invalid,
      signal,
    });
    this.#latest = {
      manifest,
      manifestHash,
      facts,
      health: check(manifest, facts),
      gap: assess(manifest, facts),
    };
    return this.#latest;
  }
}
