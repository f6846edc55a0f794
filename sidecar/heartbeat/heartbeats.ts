import { composeHeartbeat } from '../../core/observation/compose-heartbeat.ts';
import { egressReportOf } from '../../core/egress/report.ts';
import { chainOf } from '../../core/record/record-event.ts';
import type { AuditLog } from '../../core/shapes/audit-log.ts';
import type { HeartbeatReply } from '../../core/shapes/heartbeat-reply.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import type { UsageWindow } from '../../core/shapes/usage.ts';
import type { Credentials } from '../../push/credentials.ts';
import { HeartbeatSender, type Beat } from '../../push/heartbeat-sender.ts';
import { putManifest, type AuthorizedRequest } from '../../push/push-heartbeat.ts';
import { describeError } from '../../runtime/logger.ts';
import { VERSION } from '../../runtime/version.ts';
import { egressSetupOf, type SidecarContext } from '../context.ts';
import type { PutManifest } from '../organisation/organisation.ts';
import type { SentProofs } from '../proofs/proof-store.ts';
import type { AppliedStop } from '../stop/stop-switch.ts';
import type { AuditRecord } from '../record/create-recorder.ts';
import type { Assessment } from '../report/assessor.ts';

/** Milliseconds between two checks of the agent; an unreachable agent is checked more often. */
const CHECK_MS = 10_000;
const CHECK_UNREACHABLE_MS = 3_000;
const CHECK_STARTING_MS = 500;
/** The control plane accepts one heartbeat in this time, in milliseconds. */
const RATE_LIMIT_MS = 10_000;

/** The content of a heartbeat when it was first sent; a repeat contains the same window. */
interface Shipped {
  seq: number;
  window: UsageWindow;
  proofs: SentProofs;
  denials: string[];
  state: string;
}

/**
 * Reports the agent's state to the control plane: one heartbeat per interval, and an early heartbeat when the health, the
 * issues, the manifest, the proofs or the stop change.
 */
export class Heartbeats {
  readonly #context: SidecarContext;
  readonly #sender: HeartbeatSender;
  readonly #stopping = new AbortController();
  #shipped: Shipped | null = null;
  #acceptedState: string | null = null;
  /** The state for which an early heartbeat was triggered. */
  #triggeredFor: string | null = null;
  #acceptedAtMs = -Infinity;
  /** When the heartbeat under way was composed. */
  #composedAtMs = -Infinity;
  #isClosing = false;

  constructor(context: SidecarContext, url: URL) {
    const { config, logger, clock } = context;
    this.#context = context;
    this.#sender = new HeartbeatSender({
      url,
      credentials: credentialsOf(context),
      caFile: config.PLATFORM_CA_FILE,
      intervalSeconds: config.HEARTBEAT_SECONDS,
      compose: (beat) => this.#compose(beat),
      onReply: (reply, _sent, body) => this.#accepted(reply, body),
      logger,
      clock,
    });
  }

  /** Failed heartbeats since the last accepted heartbeat. */
  get failures(): number {
    return this.#sender.failures();
  }

  start(): void {
    this.#sender.start();
    void this.#watch();
    const check = (): void => void this.#check();
    this.#context.manifest.onChange(check);
    this.#context.proofs.onChange(check);
    this.#context.stop.onChange(check);
  }

  /** Sends a final heartbeat (best effort) without new probes, because the agent is also being stopped. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#stopping.abort();
    await this.#sender.close();
  }

  async #compose(beat: Beat): Promise<Heartbeat> {
    const { config, clock, audit, engine, proofs, assessor, instance, startedAt, stop, record } =
      this.#context;
    const assessment = await (this.#isClosing
      ? assessor.assessStopping()
      : this.#shipped === null
        ? this.#firstAssessment()
        : assessor.assess());
    // If the first attempt arrived, the control plane ignores this repeat, so newer changes must not count as sent.
    const first = this.#shipped?.seq === beat.seq ? this.#shipped : null;
    const current = proofs.toSend();
    const shipped: Shipped = {
      seq: beat.seq,
      window: first?.window ?? audit.window,
      proofs: { ...current, changesUpTo: first?.proofs.changesUpTo ?? current.changesUpTo },
      denials: first?.denials ?? audit.takeDenials(),
      state: first?.state ?? stateOf(assessment, current, stop.current),
    };
    this.#shipped = shipped;
    this.#composedAtMs = clock.monotonicMs();
    const { facts, llm: _, ...reports } = assessment;
    const auditLog = record === null ? null : auditLogOf(record);
    return composeHeartbeat({
      ...beat,
      ...reports,
      instance,
      at: clock.now(),
      startedAt,
      proofs: shipped.proofs.proofs,
      proofRevision: shipped.proofs.revision,
      usage: shipped.window,
      totals: audit.totalsToday(tokenPriceOf(assessment.manifest)),
      outcomes: { ...audit.outcomes },
      failOpenSeconds: engine.failOpenSeconds(),
      denials: shipped.denials,
      egress: egressReportOf(assessment.manifest, facts, egressSetupOf(this.#context)),
      organisationRevision: this.#context.organisation.directive?.revision ?? null,
      stop: this.#confirmedStop(),
      policyMode: config.POLICY_PROXY_MODE,
      policyState: facts.policy.state,
      sidecarVersion: VERSION,
      ...(auditLog !== null && { auditLog }),
    });
  }

  #confirmedStop(): Heartbeat['stop'] {
    const { stop, lanes } = this.#context;
    if (stop.current === null) return null;
    const { id, since, cut } = stop.current;
    return { id, since: since.toISOString(), cut, lanes: lanes !== null };
  }

  /**
   * The sidecar starts before its agent, so an immediate heartbeat would report each new pod as unhealthy. Therefore the first
   * heartbeat waits until the agent is reachable, for one interval at most; until then the observation is Pending.
   */
  async #firstAssessment(): Promise<Assessment> {
    const { config, clock, assessor } = this.#context;
    const endMs = clock.monotonicMs() + config.HEARTBEAT_SECONDS * 1_000;
    for (;;) {
      const assessment = await assessor.assessNow();
      const isUp = assessment.facts.upstream?.state === 'reachable';
      if (isUp || clock.monotonicMs() >= endMs) return assessment;
      try {
        await clock.sleep(CHECK_STARTING_MS, this.#stopping.signal);
      } catch {
        return assessment;
      }
    }
  }

  /** The control plane with the credential of the heartbeats. */
  readonly authorize = (signal: AbortSignal): Promise<AuthorizedRequest> => this.#sender.authorize(signal);

  /** Sends a manifest to be judged. */
  async putManifest(text: string, signal: AbortSignal): ReturnType<PutManifest> {
    try {
      return await putManifest(await this.#sender.authorize(signal), text);
    } catch (error) {
      return { reason: describeError(error) };
    }
  }

  #accepted(reply: HeartbeatReply, body: string): void {
    this.#context.organisation.replied(body);
    this.#context.directives.replied(body, this.#composedAtMs);
    const { audit, peerUsage, proofs, clock, logger } = this.#context;
    const shipped = this.#shipped;
    if (shipped === null) return;
    this.#acceptedAtMs = clock.monotonicMs();
    this.#acceptedState = shipped.state;
    this.#triggeredFor = null;
    audit.windowArrived(shipped.window);
    peerUsage.update(reply.othersToday ?? { tokens: 0, costUsd: 0 });
    const { proof, proofRevision } = reply;
    const list =
      proof === undefined || proofRevision === undefined ? null : { proofs: proof, revision: proofRevision };
    proofs.settle(shipped.proofs, list).catch((error: unknown) => {
      logger.error('failed to store proofs from control plane', { error: describeError(error) });
    });
  }

  async #watch(): Promise<void> {
    const { clock, assessor } = this.#context;
    try {
      for (;;) {
        const isUp = assessor.latest?.facts.upstream?.state === 'reachable';
        await clock.sleep(isUp ? CHECK_MS : CHECK_UNREACHABLE_MS, this.#stopping.signal);
        await this.#check();
      }
    } catch {
      // The sidecar is stopping.
    }
  }

  /** Sends an early heartbeat if the state has changed, as soon as the rate limit allows. */
  async #check(): Promise<void> {
    const { clock, assessor, proofs, stop } = this.#context;
    try {
      const state = stateOf(await assessor.assessNow(), proofs.toSend(), stop.current);
      if (!this.#isChanged(state)) return;
      const limitedMs = this.#acceptedAtMs + RATE_LIMIT_MS - clock.monotonicMs();
      if (limitedMs > 0) await clock.sleep(limitedMs, this.#stopping.signal);
      if (!this.#isChanged(state)) return;
      this.#triggeredFor = state;
      this.#sender.trigger();
    } catch {
      // The sidecar is stopping.
    }
  }

  /** False before the first heartbeat was accepted, because that heartbeat is already on its way. */
  #isChanged(state: string): boolean {
    if (this.#isClosing || this.#acceptedState === null) return false;
    return state !== this.#acceptedState && state !== this.#triggeredFor;
  }
}

/** The values whose change triggers an early heartbeat; values that change constantly are excluded. */
function stateOf(
  { health, gap, manifestHash }: Assessment,
  proofs: SentProofs,
  stop: AppliedStop | null,
): string {
  return JSON.stringify([
    health.status,
    gap.source,
    gap.issues.map((issue) => [issue.property, issue.severity]),
    manifestHash,
    stop && [stop.id, stop.since],
    proofs.proofs.map((proof) => [proof.ruleId, proof.origin, proof.verifiedAt, proof.state]),
  ]);
}

/** null: no line was written yet. */
function auditLogOf({ source, writer: { head, counts } }: AuditRecord): AuditLog | null {
  if (head === null) return null;
  return { chain: chainOf(source), ...head, at: head.at.toISOString(), ...counts };
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
