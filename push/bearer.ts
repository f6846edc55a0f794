import type { PushClock, PushLogger } from './clock.ts';
import { isRegistrationKey, isRenewalDue, newerOf, readTokenFile, type Credentials } from './credentials.ts';
import { describeError } from '../core/untrusted/describe-error.ts';
import { renewKey, type Endpoint } from './push-heartbeat.ts';
import { replaceFile } from './replace-file.ts';

export interface BearerContext {
  endpoint: Endpoint;
  clock: PushClock;
  logger: PushLogger;
}

/** The token of the pushes. */
export class Bearer {
  readonly #credentials: Credentials;
  readonly #context: BearerContext;
  /** A renewed key, which may not be stored, and the stored key that it replaces. */
  #renewed: { from: string; key: string } | null = null;
  #failing = false;

  constructor(credentials: Credentials, context: BearerContext) {
    this.#credentials = credentials;
    this.#context = context;
  }

  /** Rejects when the token file cannot be read. */
  async current(): Promise<string> {
    return this.#keyFor(await this.#stored());
  }

  /** Renews a registration token past two thirds of its lifetime. Never rejects; the next push retries a failed renewal. */
  async renewIfDue(signal: AbortSignal): Promise<void> {
    const { endpoint, clock, logger } = this.#context;
    // An unreadable token is reported by the push itself.
    const stored = await this.#stored().catch(() => null);
    // The kubelet renews projected tokens.
    if (stored === null || (this.#credentials.kind === 'file' && !isRegistrationKey(stored))) return;
    const bearer = this.#keyFor(stored);
    if (!isRenewalDue(bearer, clock.now())) return;
    const renewal = await renewKey({ endpoint, bearer, signal });
    if (!renewal.ok) {
      const fields = { reason: renewal.reason };
      if (this.#failing) logger.debug('control plane key renewal failed again', fields);
      else logger.warn('control plane key renewal failed', fields);
      this.#failing = true;
      return;
    }
    this.#failing = false;
    this.#renewed = { from: stored, key: renewal.key };
    logger.info('control plane key renewed', { expiresAt: renewal.expiresAt.toISOString() });
    await this.#keep(renewal.key);
  }

  /** The currently stored token; rejects when it cannot be read. */
  async #stored(): Promise<string> {
    const credentials = this.#credentials;
    if (credentials.kind === 'file') return readTokenFile(credentials.path);
    const { key, keepPath } = credentials;
    return keepPath === undefined ? key.reveal() : newerOf(key.reveal(), keepPath, this.#context.clock.now());
  }

  /** The renewal of the stored key. A key without one: the agent was registered again, or another process renewed the key. */
  #keyFor(stored: string): string {
    return this.#renewed?.from === stored ? this.#renewed.key : stored;
  }

  async #keep(key: string): Promise<void> {
    const path = this.#credentials.kind === 'file' ? this.#credentials.path : this.#credentials.keepPath;
    try {
      if (path !== undefined) await replaceFile(path, `${key}\n`, 0o600);
    } catch (error) {
      this.#context.logger.warn('failed to write renewed key to its file, a restart uses the previous key', {
        path,
        reason: describeError(error),
      });
    }
  }
}
