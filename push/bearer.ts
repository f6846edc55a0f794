import type { PushClock, PushLogger } from './clock.ts';
import { isRenewalDue, lifetimeOf, type Credentials } from './credentials.ts';
import { keySourceOf, type KeySource } from './key-source.ts';
import { describe, renewKey, type Endpoint } from './push-heartbeat.ts';

/** The token that goes with a push. */
export interface Bearer {
  /** Rejects when the token file cannot be read. */
  current(): Promise<string>;
  /** Exchanges a registration token that is past two thirds of its lifetime; never rejects, and is tried again with the next push. */
  renewIfDue(signal: AbortSignal): Promise<void>;
}

export interface BearerContext {
  endpoint: Endpoint;
  clock: PushClock;
  logger: PushLogger;
}

export function createBearer(credentials: Credentials, context: BearerContext): Bearer {
  return new RenewedKey(
    keySourceOf(credentials, () => context.clock.now()),
    context,
  );
}

class RenewedKey implements Bearer {
  readonly #context: BearerContext;
  readonly #source: KeySource;
  /** A renewed key that is kept nowhere, and the key in whose place it is used. */
  #renewed: { from: string; key: string } | null = null;
  #failing = false;

  constructor(source: KeySource, context: BearerContext) {
    this.#source = source;
    this.#context = context;
  }

  async current(): Promise<string> {
    const stored = await this.#source.read();
    // Another key in the source: somebody registered again, or another process has renewed it.
    return this.#renewed?.from === stored ? this.#renewed.key : stored;
  }

  async renewIfDue(signal: AbortSignal): Promise<void> {
    const { endpoint, clock, logger } = this.#context;
    // The push itself reports a token that cannot be read.
    const stored = await this.#source.read().catch(() => null);
    if (stored === null || !this.#source.isRenewable(stored)) return;
    const bearer = this.#renewed?.from === stored ? this.#renewed.key : stored;
    const lifetime = lifetimeOf(bearer, clock.now());
    if (lifetime === null || !isRenewalDue(lifetime, clock.now())) return;
    const renewal = await renewKey({ endpoint, bearer, signal });
    if (!renewal.ok) {
      const fields = { reason: renewal.reason };
      if (this.#failing) logger.debug('the key still cannot be renewed', fields);
      else logger.warn('the key cannot be renewed', fields);
      this.#failing = true;
      return;
    }
    this.#failing = false;
    this.#renewed = { from: stored, key: renewal.key };
    logger.info('renews its key', { expiresAt: renewal.expiresAt.toISOString() });
    await this.#keep(renewal.key);
  }

  async #keep(key: string): Promise<void> {
    try {
      await this.#source.keep?.(key);
    } catch (error) {
      this.#context.logger.warn('renewed key not stored: it is lost with a restart', {
        reason: describe(error),
      });
    }
  }
}
