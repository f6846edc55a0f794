import type { PolicyEngine } from '../../core/policy/engine.ts';
import { canariesOf, type Policy } from '../../core/policy/policy.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

/** Milliseconds between two rounds. */
const ROUND_MS = 60_000;

export interface CanaryWatchOptions {
  engine: PolicyEngine;
  /** The policy in force. */
  policy: () => Policy;
  /** Whether the rules about calls on the egress lanes must be loaded, too. */
  withEgress?: boolean;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Queries the engine with canary inputs that it must deny, at start and every minute, because an engine without this
 * manifest's rules and data would allow everything. The result is reported and does not change how requests are handled.
 */
export class CanaryWatch {
  /** false: the engine responded and did not deny a canary. */
  isLoaded = true;
  readonly #options: CanaryWatchOptions;
  #round: Promise<void> = Promise.resolve();

  constructor(options: CanaryWatchOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#run();
  }

  /** Checks all canaries now, or after the current round. */
  check(): Promise<void> {
    this.#round = this.#round.then(() => this.#check());
    return this.#round;
  }

  async #run(): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      await this.check();
      await clock.sleep(ROUND_MS, signal).catch(() => undefined);
    }
  }

  async #check(): Promise<void> {
    const { engine, policy, withEgress = false, logger, signal } = this.#options;
    const missing = new Set<string>();
    for (const { reason, input } of canariesOf(policy(), withEgress)) {
      if (signal.aborted) return;
      const result = await engine.evaluate(input);
      // The rules of an unreachable engine are unknown, so the last result stays.
      if (result.state === 'unreachable') return;
      if (result.state === 'not-loaded' || !result.denials.includes(reason)) missing.add(reason);
    }
    const wasLoaded = this.isLoaded;
    this.isLoaded = missing.size === 0;
    if (this.isLoaded && !wasLoaded) logger.info('policy engine rules loaded');
    if (!this.isLoaded && wasLoaded)
      logger.warn('policy engine rules missing or from another manifest', { missing: [...missing] });
  }
}
