import { dayOf } from '../../core/usage/day-totals.ts';
import type { UsageTotals } from '../../core/shapes/usage.ts';
import type { Clock } from '../../runtime/clock.ts';

/** Today's usage of the agent's other instances, from the last heartbeat reply. */
export class PeerUsage {
  readonly #clock: Clock;
  #reported = { day: '', tokens: 0, costUsd: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  update({ tokens, costUsd }: { tokens: number; costUsd: number }): void {
    this.#reported = { day: dayOf(this.#clock.now()), tokens, costUsd };
  }

  /** Zero if the reported totals are of an earlier day. */
  get totals(): { tokens: number; costUsd: number } {
    const { day, tokens, costUsd } = this.#reported;
    return day === dayOf(this.#clock.now()) ? { tokens, costUsd } : { tokens: 0, costUsd: 0 };
  }

  /** Today's totals of all instances of the agent, as far as this instance knows; cost is absent without a price. */
  withOwn({ tokensToday, costTodayUsd }: UsageTotals): UsageTotals {
    const { tokens, costUsd } = this.totals;
    if (costTodayUsd === undefined) return { tokensToday: tokensToday + tokens };
    return { tokensToday: tokensToday + tokens, costTodayUsd: costTodayUsd + costUsd };
  }
}
