import type { HeartbeatReply } from '../core/shapes/heartbeat-reply.ts';
import type { Heartbeat } from '../core/shapes/heartbeat.ts';
import { describeError } from '../core/untrusted/describe-error.ts';
import { Bearer } from './bearer.ts';
import { builtinClock, type PushClock, type PushLogger } from './clock.ts';
import type { Credentials } from './credentials.ts';
import { fitHeartbeat } from './fit-heartbeat.ts';
import { pushHeartbeat, type AuthorizedRequest, type Endpoint, type PushOutcome } from './push-heartbeat.ts';
import { pauseAfterFailure, pauseAfterLimit, pauseAfterSuccess, type Pause } from './schedule.ts';

/** Values that the sender sets in each heartbeat, so that the receiver can distinguish a repeat from a new heartbeat. */
export interface Beat {
  /**
   * Grows by one per accepted heartbeat. A heartbeat with the previous seq is a repeat after a failure and must contain the
   * same usage window, since the first attempt may have arrived. A higher seq means that the previous heartbeat was accepted.
   */
  seq: number;
  /** The interval in force, which the control plane may have changed. */
  intervalSeconds: number;
}

export interface HeartbeatSenderOptions {
  /** The control plane's base URL, http or https. */
  url: URL;
  credentials: Credentials;
  /** PEM file with the CA of the control plane; read for every push. */
  caFile?: string | null;
  /** 10..3600. */
  intervalSeconds: number;
  /** Composes the heartbeat; a rejection counts as a failed push. */
  compose(beat: Beat): Promise<Heartbeat>;
  /** Called after each accepted heartbeat; the reply is empty for a 204. */
  onReply?(reply: HeartbeatReply, sent: Heartbeat, body: string): void;
  logger: PushLogger;
  clock?: PushClock;
  /** In [0, 1); for the jitter. */
  random?: () => number;
  /** Milliseconds for one exchange; default 10,000. */
  timeoutMs?: number;
  /** Stops the sender immediately, without a final heartbeat. */
  signal?: AbortSignal;
}

const TIMEOUT_MS = 10_000;
const LAST_BEAT_MS = 1_000;

/** Pushes heartbeats until closed. Never throws: an unavailable control plane must not affect the agent. */
export class HeartbeatSender {
  readonly #options: HeartbeatSenderOptions;
  readonly #clock: PushClock;
  readonly #random: () => number;
  readonly #endpoint: Endpoint;
  readonly #bearer: Bearer;
  readonly #stopping = new AbortController();
  readonly #stopped: AbortSignal;
  #loop: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #pausing: AbortController | null = null;
  #triggered = false;
  #seq = 1;
  #intervalSeconds: number;
  #failures = 0;

  constructor(options: HeartbeatSenderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? builtinClock;
    this.#random = options.random ?? Math.random;
    this.#intervalSeconds = options.intervalSeconds;
    this.#endpoint = {
      base: options.url,
      caFile: options.caFile ?? null,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    };
    this.#bearer = new Bearer(options.credentials, {
      endpoint: this.#endpoint,
      clock: this.#clock,
      logger: options.logger,
    });
    this.#stopped = options.signal
      ? AbortSignal.any([options.signal, this.#stopping.signal])
      : this.#stopping.signal;
  }

  /** Sends the first heartbeat immediately. Idempotent. */
  start(): void {
    if (this.#closing === null) this.#loop ??= this.#run();
  }

  /** Sends the next heartbeat early. Back-off and Retry-After still apply; several triggers in a row cause one heartbeat. */
  trigger(): void {
    this.#triggered = true;
    this.#pausing?.abort();
  }

  /** The credential of the pushes, which is renewed here. Rejects when the token file cannot be read. */
  async authorize(signal: AbortSignal): Promise<AuthorizedRequest> {
    return { endpoint: this.#endpoint, bearer: await this.#bearer.current(), signal };
  }

  /** Since the last accepted heartbeat; a rate limit is not a failure. */
  failures(): number {
    return this.#failures;
  }

  /** Sends a final heartbeat (best effort) and stops; resolves within about one second. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const wasRunning = this.#loop !== null && !this.#stopped.aborted;
    this.#stopping.abort();
    if (!wasRunning) return;
    const limit = new AbortController();
    const sent = new AbortController();
    // A slow `compose` must not delay the end of the process.
    await Promise.race([
      this.#sendLast(limit.signal).finally(() => sent.abort()),
      this.#clock.sleep(LAST_BEAT_MS, sent.signal).then(
        () => limit.abort(),
        () => undefined,
      ),
    ]);
  }

  async #sendLast(limit: AbortSignal): Promise<void> {
    await this.#loop;
    const outcome = await this.#push(limit);
    if (outcome.kind !== 'accepted') this.#options.logger.debug('final heartbeat not delivered');
  }

  async #run(): Promise<void> {
    while (!this.#stopped.aborted) {
      this.#triggered = false;
      await this.#bearer.renewIfDue(this.#stopped);
      const outcome = await this.#push(this.#stopped);
      if (this.#stopped.aborted) return;
      await this.#pause(this.#settle(outcome));
    }
  }

  async #push(signal: AbortSignal): Promise<PushOutcome> {
    const beat = { seq: this.#seq, intervalSeconds: this.#intervalSeconds };
    let heartbeat: Heartbeat;
    let bearer: string;
    try {
      // Read before composing: reading is cheap, and without a token no probes are needed.
      bearer = await this.#bearer.current();
      heartbeat = await this.#options.compose(beat);
    } catch (error) {
      return { kind: 'failed', reason: describeError(error) };
    }
    const fitted = fitHeartbeat(heartbeat);
    if (fitted.trimmed) this.#options.logger.warn('heartbeat shortened to the size limit', { seq: beat.seq });
    const outcome = await pushHeartbeat({ endpoint: this.#endpoint, bearer, signal }, fitted.body, () =>
      this.#clock.now(),
    );
    if (outcome.kind === 'accepted') this.#accept(outcome, fitted.heartbeat);
    return outcome;
  }

  #accept({ reply, body }: PushOutcome & { kind: 'accepted' }, sent: Heartbeat): void {
    this.#seq += 1;
    this.#intervalSeconds = reply.intervalSeconds ?? this.#intervalSeconds;
    try {
      this.#options.onReply?.(reply, sent, body);
    } catch (error) {
      this.#options.logger.warn('failed to apply heartbeat reply', { reason: describeError(error) });
    }
  }

  /** Counts and logs an outcome (one warning per outage) and returns the pause before the next heartbeat. */
  #settle(outcome: PushOutcome): Pause {
    const { logger } = this.#options;
    const intervalMs = this.#intervalSeconds * 1_000;
    if (outcome.kind === 'accepted') {
      if (this.#failures > 0) logger.info('heartbeats delivered again', { after: this.#failures });
      this.#failures = 0;
      return pauseAfterSuccess(intervalMs, this.#random());
    }
    if (outcome.kind === 'limited') {
      logger.debug('heartbeat rate limited', { ...outcome });
      return pauseAfterLimit(outcome.retryAfterMs, this.#random());
    }
    this.#failures += 1;
    const fields = { ...outcome, url: this.#endpoint.base.origin, failures: this.#failures };
    if (this.#failures === 1) logger.warn('heartbeat not delivered', fields);
    else logger.debug('heartbeat still not delivered', fields);
    return pauseAfterFailure(this.#failures, intervalMs, this.#random());
  }

  async #pause(pause: Pause): Promise<void> {
    try {
      await this.#clock.sleep(pause.earliestMs, this.#stopped);
      if (this.#triggered) return;
      this.#pausing = new AbortController();
      const early = AbortSignal.any([this.#stopped, this.#pausing.signal]);
      await this.#clock.sleep(pause.afterMs - pause.earliestMs, early);
    } catch {
      // Interrupted by a trigger or by the end of the sender.
    } finally {
      this.#pausing = null;
    }
  }
}
