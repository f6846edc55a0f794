import { costOf } from '../../core/usage/cost.ts';
import { dayOf } from '../../core/usage/day-totals.ts';
import type { LlmAnalysisLimits } from '../../runtime/llm-analysis-fields.ts';

/** Tokens of one request. */
export interface TokenUse {
  input: number;
  output: number;
}

type BudgetLimits = Omit<LlmAnalysisLimits, 'timeoutSeconds'>;

/**
 * The tokens and the money of one UTC day. Before a request is sent, it reserves the most that it is expected to use. A request
 * whose use is not known keeps its reservation. The counts are kept in memory: a restart starts at zero.
 */
export class DailyBudget {
  readonly #limits: BudgetLimits;
  #day = '';
  #used: TokenUse = { input: 0, output: 0 };

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /** Tokens and cost of the UTC day of `at`, with reservations. */
  today(at: Date): TokenUse & { usd: number } {
    const used = dayOf(at) === this.#day ? this.#used : { input: 0, output: 0 };
    return { ...used, usd: this.#costOf(used) };
  }

  /** Reserves the most that a request can use; returns why today's limits do not allow it, or null. */
  reserve(most: TokenUse, at: Date): string | null {
    const { tokensPerDay, usdPerDay } = this.#limits;
    const { usd, ...used } = this.today(at);
    const left = Math.max(0, tokensPerDay - used.input - used.output);
    if (most.input + most.output > left)
      return `today's limit leaves ${left} of ${tokensPerDay} tokens, and the next request can use ${most.input + most.output}`;
    const cost = this.#costOf(most);
    if (usd + cost > usdPerDay)
      return `today's limit leaves ${dollars(Math.max(0, usdPerDay - usd))} of ${dollars(usdPerDay)}, and the next request can cost ${dollars(cost)}`;
    this.#day = dayOf(at);
    this.#used = { input: used.input + most.input, output: used.output + most.output };
    return null;
  }

  /** Replaces a reservation by what the request used. `at`: the time of the reservation. */
  settle(reserved: TokenUse, used: TokenUse, at: Date): void {
    if (dayOf(at) !== this.#day) return;
    this.#used = {
      input: this.#used.input - reserved.input + used.input,
      output: this.#used.output - reserved.output + used.output,
    };
  }

  #costOf({ input, output }: TokenUse): number {
    const tokens = { promptTokens: input, completionTokens: output };
    return costOf(tokens, this.#limits.usdPerMillionTokens);
  }
}

const dollars = (amount: number): string => `$${amount.toFixed(4)}`;
