import { composeHeartbeat } from '../../core/heartbeat/compose-heartbeat.ts';
import type { Heartbeat, HeartbeatReply } from '../../core/heartbeat/heartbeat.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import type { UsageWindow } from '../../core/usage/usage.ts';
import type { Credentials } from '../../push/credentials.ts';
import { createHeartbeatSender, type Beat, type HeartbeatSender } from '../../push/heartbeat-sender.ts';
import { describeError } from '../../runtime/logger.ts';
import { VERSION } from '../../runtime/version.ts';
import type { SidecarContext } from '../context.ts';
import type { ToldProofs } from '../proofs/proof-store.ts';
import type { Assessment } from '../report/assessor.ts';

/** Milliseconds between two looks at the agent while nothing is due; an agent that is not up yet is looked at more often. */
const LOOK_MS = 10_000;
const LOOK_UNREACHABLE_MS = 3_000;
const LOOK_STARTING_MS = 500;
/** The control plane takes one heartbeat in this time, in milliseconds. */
const RATE_LIMIT_MS = 10_000;

/** What one beat shipped, as it was when it first went out; a repeat of it ships the same window. */
interface Shipped {
  seq: number;
  window: UsageWindow;
  proofs: ToldProofs;
  verdict: string;
}

/**
 * Tells the control plane how the agent is: one heartbeat per interval, and one ahead of time when the verdict, the
 * manifest or the proofs have changed.
 */
export class Heartbeats {
  readonly #context: SidecarContext;
  readonly #sender: HeartbeatSender;
  readonly #stopping = new AbortController();
  #shipped: Shipped | null = null;
  #toldVerdict: string | null = null;
  /** A heartbeat for it is on its way. */
  #triggeredFor: string | null = null;
  #acceptedAtMs = -Infinity;
  #isClosing = false;

  constructor(context: SidecarContext, url: URL) {
    const { config, logger, clock } = context;
    this.#context = context;
    this.#sender = createHeartbeatSender({
      url,
      credentials: credentialsOf(context),
      caFile: config.PLATFORM_CA_FILE,
      intervalSeconds: config.HEARTBEAT_SECONDS,
      compose: (beat) => this.#compose(beat),
      onReply: (reply) => this.#arrived(reply),
      logger,
      clock,
    });
  }

  /** Heartbeats that failed since the last accepted one. */
  get failures(): number {
    return this.#sender.state().failures;
  }

  start(): void {
    this.#sender.start();
    void this.#lookOut();
    const look = (): void => void this.#look();
    this.#context.manifest.onChange(look);
    this.#context.proofs.onChange(look);
  }

  /** Sends a last heartbeat, best effort, with the verdict as it last was: an agent that is being stopped is no news. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#stopping.abort();
    await this.#sender.close();
  }

  async #compose(beat: Beat): Promise<Heartbeat> {
    const { config, clock, audit, proofs, assessor, instance, startedAt } = this.#context;
    const latest = this.#isClosing ? assessor.latest : null;
    const assessment = latest ?? (await (this.#shipped === null ? this.#firstSight() : assessor.assess()));
    // The control plane takes no notice of a repeat when the first one did arrive: what is news since is not told yet.
    const first = this.#shipped?.seq === beat.seq ? this.#shipped : null;
    const told = proofs.tell();
    const shipped: Shipped = {
      seq: beat.seq,
      window: first?.window ?? audit.window,
      proofs: { ...told, changesUpTo: first?.proofs.changesUpTo ?? told.changesUpTo },
      verdict: first?.verdict ?? verdictOf(assessment, told),
    };
    this.#shipped = shipped;
    return composeHeartbeat({
      instance,
      seq: beat.seq,
      intervalSeconds: beat.intervalSeconds,
      at: clock.now(),
      startedAt,
      manifest: assessment.manifest,
      manifestHash: assessment.manifestHash,
      health: assessment.health,
      gap: assessment.gap,
      scoreWithoutLocalProofs: assessment.scoreWithoutLocalProofs,
      evidence: assessment.evidence,
      audit: assessment.audit,
      proofs: shipped.proofs.proofs,
      proofRevision: shipped.proofs.revision,
      usage: shipped.window,
      totals: audit.totalsToday(tokenPriceOf(assessment.manifest)),
      outcomes: { ...audit.outcomes },
      policyMode: config.POLICY_PROXY_MODE,
      policyState: assessment.facts.policy.state,
      sidecarVersion: VERSION,
    });
  }

  /**
   * A sidecar starts before its agent, and each new pod would begin with an alarm. So the first heartbeat waits until
   * the agent answers, for one interval at most; meanwhile the observation is Pending.
   */
  async #firstSight(): Promise<Assessment> {
    const { config, clock, assessor } = this.#context;
    const endMs = clock.monotonicMs() + config.HEARTBEAT_SECONDS * 1_000;
    for (;;) {
      const assessment = await assessor.assessAnew();
      const isUp = assessment.facts.upstream?.state === 'reachable';
      if (isUp || clock.monotonicMs() >= endMs) return assessment;
      try {
        await clock.sleep(LOOK_STARTING_MS, this.#stopping.signal);
      } catch {
        return assessment;
      }
    }
  }

  #arrived(reply: HeartbeatReply): void {
    const { audit, others, proofs, clock, logger } = this.#context;
    const shipped = this.#shipped;
    if (shipped === null) return;
    this.#acceptedAtMs = clock.monotonicMs();
    this.#toldVerdict = shipped.verdict;
    this.#triggeredFor = null;
    audit.windowArrived(shipped.window);
    others.take(reply.othersToday ?? { tokens: 0, costUsd: 0 });
    const { proof, proofRevision } = reply;
    const answer =
      proof === undefined || proofRevision === undefined ? null : { proofs: proof, revision: proofRevision };
    proofs.settle(shipped.proofs, answer).catch((error: unknown) => {
      logger.error('proofs from the control plane are not kept', { error: describeError(error) });
    });
  }

  async #lookOut(): Promise<void> {
    const { clock, assessor } = this.#context;
    try {
      for (;;) {
        const isUp = assessor.latest?.facts.upstream?.state === 'reachable';
        await clock.sleep(isUp ? LOOK_MS : LOOK_UNREACHABLE_MS, this.#stopping.signal);
        await this.#look();
      }
    } catch {
      // Woken by its end.
    }
  }

  /** Sends early when what would be told is not what was told, as soon as the rate limit allows it. */
  async #look(): Promise<void> {
    const { clock, assessor, proofs } = this.#context;
    try {
      const verdict = verdictOf(await assessor.assessAnew(), proofs.tell());
      if (!this.#isNews(verdict)) return;
      const limitedMs = this.#acceptedAtMs + RATE_LIMIT_MS - clock.monotonicMs();
      if (limitedMs > 0) await clock.sleep(limitedMs, this.#stopping.signal);
      if (!this.#isNews(verdict)) return;
      this.#triggeredFor = verdict;
      this.#sender.trigger();
    } catch {
      // The process stops while its last probes run.
    }
  }

  /** Before the first heartbeat has arrived there is one on its way already. */
  #isNews(verdict: string): boolean {
    if (this.#isClosing || this.#toldVerdict === null) return false;
    return verdict !== this.#toldVerdict && verdict !== this.#triggeredFor;
  }
}

/** Everything of which a change is worth a heartbeat of its own; numbers that always move are not in it. */
function verdictOf({ health, gap, manifestHash }: Assessment, proofs: ToldProofs): string {
  return JSON.stringify([
    health.status,
    gap.source,
    gap.issues.map((issue) => [issue.property, issue.severity]),
    manifestHash,
    proofs.proofs.map((proof) => [proof.ruleId, proof.origin, proof.verifiedAt]),
  ]);
}

function credentialsOf({ config }: SidecarContext): Credentials {
  if (config.PLATFORM_TOKEN_FILE !== null) return { kind: 'file', path: config.PLATFORM_TOKEN_FILE };
  const { PLATFORM_KEY: key, PLATFORM_KEY_STORE_PATH: keepPath } = config;
  return {
    kind: 'key',
    key: key ?? { reveal: () => '' },
    ...(keepPath === null ? {} : { keepPath }),
  };
}
