import { dayOf } from '../../core/usage/day-totals.ts';
import type { Clock } from '../../runtime/clock.ts';

/** What the agent's other instances used today, as the last heartbeat's reply said. */
export class PeerUsage {
  readonly #clock: Clock;
  #told = { day: '', tokens: 0, costUsd: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take({ tokens, costUsd }: { tokens: number; costUsd: number }): void {
    this.#told = { day: dayOf(this.#clock.now()), tokens, costUsd };
  }

  /** Yesterday's totals say nothing about today. */
  get totals(): { tokens: number; costUsd: number } {
    const { day, tokens, costUsd } = this.#told;
    return day === dayOf(this.#clock.now()) ? { tokens, costUsd } : { tokens: 0, costUsd: 0 };
  }
}
