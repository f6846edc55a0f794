import type { PushClock, PushLogger } from './clock.ts';
import { isRenewalDue, lifetimeOf, type Credentials } from './credentials.ts';
import { keySourceOf, type KeySource } from './key-source.ts';
import { describeError } from '../core/untrusted/describe-error.ts';
import { renewKey, type Endpoint } from './push-heartbeat.ts';

export interface BearerContext {
  endpoint: Endpoint;
  clock: PushClock;
  logger: PushLogger;
}

/** The token of the pushes. */
export class Bearer {
  readonly #context: BearerContext;
  readonly #source: KeySource;
  /** A renewed key, which may not be stored, and the stored key that it replaces. */
  #renewed: { from: string; key: string } | null = null;
  #failing = false;

  constructor(credentials: Credentials, context: BearerContext) {
    this.#source = keySourceOf(credentials, () => context.clock.now());
    this.#context = context;
  }

  /** Rejects when the token file cannot be read. */
  async current(): Promise<string> {
    const stored = await this.#source.read();
    // A different key in the source: the agent was registered again, or another process renewed the key.
    return this.#renewed?.from === stored ? this.#renewed.key : stored;
  }

  /** Renews a registration token past two thirds of its lifetime. Never rejects; the next push retries a failed renewal. */
  async renewIfDue(signal: AbortSignal): Promise<void> {
    const { endpoint, clock, logger } = this.#context;
    // An unreadable token is reported by the push itself.
    const stored = await this.#source.read().catch(() => null);
    if (stored === null || !this.#source.isRenewable(stored)) return;
    const bearer = this.#renewed?.from === stored ? this.#renewed.key : stored;
    const lifetime = lifetimeOf(bearer, clock.now());
    if (lifetime === null || !isRenewalDue(lifetime, clock.now())) return;
    const renewal = await renewKey({ endpoint, bearer, signal });
    if (!renewal.ok) {
      const fields = { reason: renewal.reason };
      if (this.#failing) logger.debug('key renewal failed again', fields);
      else logger.warn('key renewal failed', fields);
      this.#failing = true;
      return;
    }
    this.#failing = false;
    this.#renewed = { from: stored, key: renewal.key };
    logger.info('key renewed', { expiresAt: renewal.expiresAt.toISOString() });
    await this.#keep(renewal.key);
  }

  async #keep(key: string): Promise<void> {
    try {
      await this.#source.keep?.(key);
    } catch (error) {
      this.#context.logger.warn('failed to store renewed key, key is lost on restart', {
        reason: describeError(error),
      });
    }
  }
}
