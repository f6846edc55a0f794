import type { PolicyAnswer } from '../../core/policy/engine.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { OpaEngine } from './opa-engine.ts';

/** Failures in a row after which the engine is left alone. */
const MAX_FAILURES = 5;
/** Milliseconds between two looks at an engine that is left alone. */
const LOOK_MS = 5_000;

const OPEN: PolicyAnswer = { state: 'unreachable', reason: 'the engine did not answer five times in a row' };

export interface BreakerOptions {
  engine: Pick<OpaEngine, 'evaluate' | 'isHealthy'>;
  /** What the engine must answer before requests are put to it again; whatever it says will do. */
  question: () => PolicyInput;
  clock: Clock;
  logger: Logger;
  /** Ends the looks. */
  signal: AbortSignal;
}

/**
 * Keeps requests from waiting for an engine that does not answer: after five failures in a row nobody asks it, until
 * a look in the background finds it healthy and gets an answer of it. One warning per outage, one line when it is over.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #isOpen = false;
  /** Of the first failure of the outage; null: there is none. */
  #downSinceMs: number | null = null;
  #downMs = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Whether the last thing known of the engine is that it does not answer. */
  get isDown(): boolean {
    return this.#downSinceMs !== null;
  }

  /** Seconds of all outages, the one under way included: requests passed unevaluated in them. */
  get failOpenSeconds(): number {
    const current = this.#downSinceMs === null ? 0 : this.#options.clock.monotonicMs() - this.#downSinceMs;
    return (this.#downMs + current) / 1000;
  }

  evaluate(input: PolicyInput): PolicyAnswer | Promise<PolicyAnswer> {
    return this.#isOpen ? OPEN : this.#ask(input);
  }

  async #ask(input: PolicyInput): Promise<PolicyAnswer> {
    const answer = await this.#options.engine.evaluate(input);
    if (answer.state === 'unreachable') this.#failed(answer.reason);
    else this.#answered();
    return answer;
  }

  #failed(reason: string): void {
    const { clock, logger } = this.#options;
    this.#failures += 1;
    if (this.#downSinceMs === null) {
      this.#downSinceMs = clock.monotonicMs();
      logger.warn('the policy engine does not answer: requests pass unevaluated', { reason });
    } else logger.debug('the policy engine still does not answer', { reason });
    if (this.#failures < MAX_FAILURES || this.#isOpen) return;
    this.#isOpen = true;
    void this.#lookOut();
  }

  #answered(): void {
    // An answer that was under way when the breaker opened closes it no more than a client's request does.
    if (this.#isOpen) return;
    this.#recovered();
  }

  #recovered(): void {
    const { clock, logger } = this.#options;
    this.#failures = 0;
    if (this.#downSinceMs === null) return;
    const ms = clock.monotonicMs() - this.#downSinceMs;
    this.#downMs += ms;
    this.#downSinceMs = null;
    logger.info('the policy engine answers again', { seconds: Math.round(ms / 1000) });
  }

  async #lookOut(): Promise<void> {
    const { clock, signal } = this.#options;
    try {
      do await clock.sleep(LOOK_MS, signal);
      while (!(await this.#isBack()));
      this.#isOpen = false;
      this.#recovered();
    } catch {
      // Woken by its end.
    }
  }

  /** Its health says little of its answers, and no request should be the one that finds out. */
  async #isBack(): Promise<boolean> {
    const { engine, question } = this.#options;
    return (await engine.isHealthy()) && (await engine.evaluate(question())).state !== 'unreachable';
  }
}
