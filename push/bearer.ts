import type { PushClock, PushLogger } from './clock.ts';
import {
  isRenewalDue,
  lifetimeOf,
  readTokenFile,
  type Credentials,
  type KeyLifetime,
  type Revealable,
} from './credentials.ts';
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
  if (credentials.kind === 'file')
    return { current: () => readTokenFile(credentials.path), renewIfDue: () => Promise.resolve() };
  return new RenewedKey(credentials, context);
}

class RenewedKey implements Bearer {
  readonly #context: BearerContext;
  readonly #onRenewed: ((key: Revealable, expiresAt: Date) => void) | undefined;
  #key: Revealable;
  #lifetime: KeyLifetime | null;
  #failing = false;

  constructor(credentials: Credentials & { kind: 'key' }, context: BearerContext) {
    this.#context = context;
    this.#onRenewed = credentials.onRenewed;
    this.#key = credentials.key;
    this.#lifetime = lifetimeOf(credentials.key.reveal(), context.clock.now());
  }

  current(): Promise<string> {
    return Promise.resolve(this.#key.reveal());
  }

  async renewIfDue(signal: AbortSignal): Promise<void> {
    const { endpoint, clock, logger } = this.#context;
    if (this.#lifetime === null || !isRenewalDue(this.#lifetime, clock.now())) return;
    const renewal = await renewKey({ endpoint, bearer: this.#key.reveal(), signal });
    if (!renewal.ok) {
      const fields = { reason: renewal.reason };
      if (this.#failing) logger.debug('the key still cannot be renewed', fields);
      else logger.warn('the key cannot be renewed', fields);
      this.#failing = true;
      return;
    }
    this.#failing = false;
    this.#key = { reveal: () => renewal.key };
    this.#lifetime = lifetimeOf(renewal.key, clock.now());
    logger.info('renews its key', { expiresAt: renewal.expiresAt.toISOString() });
    try {
      this.#onRenewed?.(this.#key, renewal.expiresAt);
    } catch (error) {
      logger.warn('the renewed key is not kept', { reason: describe(error) });
    }
  }
}
