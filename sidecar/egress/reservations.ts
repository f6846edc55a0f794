import { dayOf } from '../../core/usage/day-totals.ts';
import type { Clock } from '../../runtime/clock.ts';

/** What one call may use. */
export interface Amount {
  tokens: number;
  /** 0: the price is not known. */
  usd: number;
}

/**
 * Tokens of model calls whose usage is not known yet. A call in flight counts with what it may use, so that parallel calls do
 * not exceed the budget together. A call that ended without usage keeps its amount until the end of the UTC day.
 */
export class Reservations {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #open = new Set<Amount>();
  #kept = { day: '', tokens: 0, usd: 0 };

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** All reserved amounts of the current UTC day. */
  get total(): Amount {
    const kept = this.#keptToday();
    let { tokens, usd } = kept;
    for (const amount of this.#open) {
      tokens += amount.tokens;
      usd += amount.usd;
    }
    return { tokens, usd };
  }

  reserve(amount: Amount): Amount {
    const reserved = { ...amount };
    this.#open.add(reserved);
    return reserved;
  }

  /** Ends a reservation. `isKnown`: the usage is counted elsewhere, or nothing was used. Later calls have no effect. */
  settle(reserved: Amount, isKnown: boolean): void {
    if (!this.#open.delete(reserved) || isKnown) return;
    const kept = this.#keptToday();
    this.#kept = { ...kept, tokens: kept.tokens + reserved.tokens, usd: kept.usd + reserved.usd };
  }

  #keptToday(): { day: string; tokens: number; usd: number } {
    const day = dayOf(this.#clock.now());
    return this.#kept.day === day ? this.#kept : { day, tokens: 0, usd: 0 };
  }
}
