import type { EgressUsage } from '../../core/shapes/egress-call.ts';
import type { ModelRequest, ModelUsage } from '../../core/egress/model-wire.ts';
import { dayOf } from '../../core/usage/day-totals.ts';
import type { Clock } from '../../runtime/clock.ts';

/** What one call may use. */
export interface Amount {
  tokens: number;
  /** 0: the price is not known. */
  usd: number;
}

/** What calls without usage keep until the end of their UTC day. */
interface Kept extends Amount {
  day: string;
}

const NOTHING: Readonly<Kept> = { day: '', tokens: 0, usd: 0 };

/**
 * Tokens of model calls whose usage is not known yet. A call in flight counts with what it may use, so that parallel calls do
 * not exceed the budget together. A call that ended without usage keeps its amount until the end of the UTC day.
 */
export class Reservations {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #open = new Set<Amount>();
  #kept: Readonly<Kept> = NOTHING;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** All reserved amounts of the current UTC day. */
  get total(): Amount {
    let { tokens, usd } = this.#kept === NOTHING ? NOTHING : this.#keptOn(dayOf(this.#clock.now()));
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
    const day = dayOf(this.#clock.now());
    const { tokens, usd } = this.#keptOn(day);
    this.#kept = { day, tokens: tokens + reserved.tokens, usd: usd + reserved.usd };
  }

  #keptOn(day: string): Readonly<Kept> {
    return this.#kept.day === day ? this.#kept : NOTHING;
  }
}

/** Bytes of a request per token of its prompt, for calls whose usage is not known yet. */
const BYTES_PER_TOKEN = 4;

/** What a request of `bytes` bytes uses at most. */
export function amountOf(
  { model, maxOutputTokens }: Pick<ModelRequest, 'model' | 'maxOutputTokens'>,
  bytes: number,
  withCost: (model: string | null, usage: ModelUsage) => EgressUsage,
): Amount {
  const promptTokens = Math.ceil(bytes / BYTES_PER_TOKEN);
  const completionTokens = Math.max(0, maxOutputTokens ?? 0);
  const usage = { promptTokens, completionTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const { costUsd = 0 } = withCost(model, usage);
  return { tokens: promptTokens + completionTokens, usd: costUsd };
}
