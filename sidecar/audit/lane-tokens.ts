import { callsBeyond } from '../../core/behavior/entry-usage.ts';
import { addTokens, NO_TOKENS } from '../../core/usage/token-counts.ts';
import type { ModelCall } from '../../core/shapes/request-usage.ts';
import type { Clock } from '../../runtime/clock.ts';

/** How long after a call its agent may report it, in milliseconds: exporters of spans send batches. */
const REPORTED_WITHIN_MS = 10 * 60_000;

/**
 * Tokens of lane calls whose request is not known. They are counted when the call ends. The agent may report the same tokens for a
 * request later: tokens that it reports next are these, and do not count again.
 */
export class LaneTokens {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #tokens = { ...NO_TOKENS };
  #lastMs = -Infinity;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  add(call: ModelCall): void {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetOld(nowMs);
    addTokens(this.#tokens, call);
    this.#lastMs = nowMs;
  }

  /** The part of reported calls that is not counted yet. */
  notCounted(calls: readonly ModelCall[]): readonly ModelCall[] {
    if (this.#tokens.totalTokens === 0 || calls.length === 0) return calls;
    this.#forgetOld(this.#clock.monotonicMs());
    if (this.#tokens.totalTokens === 0) return calls;
    const known = [{ modelId: '', ...this.#tokens }];
    const rest = callsBeyond(calls, known);
    const [left = { modelId: '', ...NO_TOKENS }] = callsBeyond(known, calls);
    const { promptTokens, completionTokens, totalTokens } = left;
    this.#tokens = { promptTokens, completionTokens, totalTokens };
    return rest;
  }

  #forgetOld(nowMs: number): void {
    if (nowMs - this.#lastMs > REPORTED_WITHIN_MS) this.#tokens = { ...NO_TOKENS };
  }
}
