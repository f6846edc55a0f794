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
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Asks the engine what it must deny, at the start and every minute: an engine without this manifest's rules and data
 * would allow everything. It only reports; no request is treated otherwise for it.
 */
export class CanaryWatch {
  readonly #options: CanaryWatchOptions;
  #isLoaded = true;
  #round: Promise<void> = Promise.resolve();

  constructor(options: CanaryWatchOptions) {
    this.#options = options;
  }

  /** false: the engine answered, and did not deny a canary. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  start(): void {
    void this.#loop();
  }

  /** Asks all of them now, after a round that is under way. */
  ask(): Promise<void> {
    this.#round = this.#round.then(() => this.#ask());
    return this.#round;
  }

  async #loop(): Promise<void> {
    const { clock, signal } = this.#options;
    try {
      for (;;) {
        await this.ask();
        await clock.sleep(ROUND_MS, signal);
      }
    } catch {
      // Woken by its end.
    }
  }

  async #ask(): Promise<void> {
    const { engine, policy, signal } = this.#options;
    const missing = new Set<string>();
    for (const { reason, input } of canariesOf(policy())) {
      if (signal.aborted) return;
      const answer = await engine.evaluate(input);
      // It is not there, which says nothing of what it knows.
      if (answer.state === 'unreachable') return;
      if (answer.state === 'not-loaded' || !answer.denials.includes(reason)) missing.add(reason);
    }
    this.#tell([...missing]);
  }

  #tell(missing: readonly string[]): void {
    const { logger } = this.#options;
    const isLoaded = missing.length === 0;
    if (isLoaded && !this.#isLoaded) logger.info("the policy engine has this agent's rules now");
    if (!isLoaded && this.#isLoaded)
      logger.warn("the policy engine does not have this agent's rules, or those of another manifest", {
        missing,
      });
    this.#isLoaded = isLoaded;
  }
}
