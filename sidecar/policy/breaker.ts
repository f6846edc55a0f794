import type { PolicyResult } from '../../core/policy/engine.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { OpaEngine } from './opa-engine.ts';

/** Consecutive failures after which requests are no longer sent to the engine. */
const MAX_FAILURES = 5;
/** Milliseconds between two background checks while the breaker is open. */
const CHECK_MS = 5_000;

const OPEN: PolicyResult = { state: 'unreachable', reason: 'the engine did not respond five times in a row' };

export interface BreakerOptions {
  engine: Pick<OpaEngine, 'evaluate' | 'isHealthy'>;
  /** Input of the background check. Any response from the engine closes the breaker. */
  checkInput: () => PolicyInput;
  clock: Clock;
  logger: Logger;
  /** Ends the background checks. */
  signal: AbortSignal;
}

/**
 * Circuit breaker: keeps requests from waiting for an unreachable engine. It opens after five consecutive failures and closes
 * when a background check finds the engine healthy and gets a response. Logs one warning per outage and one line at its end.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #isOpen = false;
  /** Monotonic time of the first failure of the current outage; null: no outage. */
  #downSinceMs: number | null = null;
  #downMs = 0;
  /** Problems of results that were logged; the parser knows only a few. */
  readonly #logged = new Set<string>();

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Whether an outage is in progress. */
  get isDown(): boolean {
    return this.#downSinceMs !== null;
  }

  /** Total seconds of all outages, including the current outage, in which requests passed unevaluated. */
  get failOpenSeconds(): number {
    const current = this.#downSinceMs === null ? 0 : this.#options.clock.monotonicMs() - this.#downSinceMs;
    return (this.#downMs + current) / 1000;
  }

  evaluate(input: PolicyInput): PolicyResult | Promise<PolicyResult> {
    return this.#isOpen ? OPEN : this.#options.engine.evaluate(input).then(this.#returned);
  }

  readonly #returned = (result: PolicyResult): PolicyResult => {
    if (result.state === 'unreachable') this.#failed(result.reason);
    // A response to a query from before the breaker opened does not close the breaker.
    else if (!this.#isOpen) this.#recovered();
    if (result.state === 'answered' && result.problem !== undefined) this.#warnOnce(result.problem);
    return result;
  };

  #warnOnce(problem: string): void {
    if (this.#logged.has(problem)) return;
    this.#logged.add(problem);
    this.#options.logger.warn('policy engine result invalid, counted as a denial', { reason: problem });
  }

  #failed(reason: string): void {
    const { clock, logger } = this.#options;
    this.#failures += 1;
    if (this.#downSinceMs === null) {
      this.#downSinceMs = clock.monotonicMs();
      logger.warn('policy engine unreachable, requests pass unevaluated', { reason });
    } else logger.debug('policy engine still unreachable', { reason });
    if (this.#failures < MAX_FAILURES || this.#isOpen) return;
    this.#isOpen = true;
    void this.#watch();
  }

  #recovered(): void {
    const { clock, logger } = this.#options;
    this.#failures = 0;
    if (this.#downSinceMs === null) return;
    const ms = clock.monotonicMs() - this.#downSinceMs;
    this.#downMs += ms;
    this.#downSinceMs = null;
    logger.info('policy engine reachable again', { seconds: Math.round(ms / 1000) });
  }

  async #watch(): Promise<void> {
    const { clock, signal } = this.#options;
    try {
      do await clock.sleep(CHECK_MS, signal);
      while (!(await this.#isBack()));
      this.#isOpen = false;
      this.#recovered();
    } catch {
      // The sidecar is stopping.
    }
  }

  /** Checks health and evaluation, because a healthy engine may still fail to evaluate. */
  async #isBack(): Promise<boolean> {
    const { engine, checkInput } = this.#options;
    return (await engine.isHealthy()) && (await engine.evaluate(checkInput())).state !== 'unreachable';
  }
}
