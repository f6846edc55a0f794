import { addToDay, emptyDay, totalsToday, type TokenPrice } from '../core/usage/day-totals.ts';
import { MAX_TOKENS } from '../core/shapes/tokens.ts';
import type { AgentUsageReport, ModelUsage, UsageTotals, UsageWindow } from '../core/shapes/usage.ts';
import { cut } from '../core/untrusted/fields.ts';
import { addCalls, emptyWindow, subtractWindow } from '../core/usage/usage-window.ts';

export type UsageLedger = ReturnType<typeof createUsageLedger>;

type Call = Pick<ModelUsage, 'modelId' | 'promptTokens' | 'completionTokens'>;

export type Recorded = { ok: true; call: Call } | { ok: false; reason: string };

const MAX_MODEL_ID = 200;

/**
 * Counts tokens between heartbeats. A window stays in the ledger until its heartbeat is confirmed. A repeat of the heartbeat
 * contains the same counts, and a lost heartbeat loses no counts.
 */
export function createUsageLedger(now: () => Date, price?: TokenPrice) {
  let unshipped = emptyWindow(now().toISOString());
  let day = emptyDay(now());
  let taken: { heartbeatId: string; window: UsageWindow; at: Date } | null = null;
  return {
    /** Returns the counted call, or the reason why the call is not counted. Never throws. */
    record: (modelId: string, promptTokens: number, completionTokens: number): Recorded => {
      const reason = problemOf({ modelId, promptTokens, completionTokens });
      if (reason !== null) return { ok: false, reason };
      const call = { modelId: cut(modelId, MAX_MODEL_ID), promptTokens, completionTokens };
      const calls = [{ ...call, totalTokens: promptTokens + completionTokens }];
      unshipped = addCalls(unshipped, calls);
      day = addToDay(day, calls, now());
      return { ok: true, call };
    },
    /** The usage that is not shipped yet. */
    report: (): AgentUsageReport => ({ source: 'agent-sdk', ...unshipped }),
    /** The window for one heartbeat; the same id returns the same window. */
    take: (heartbeatId: string): UsageWindow => {
      // An unconfirmed window of another heartbeat is still part of `unshipped`, so this heartbeat contains it.
      if (taken?.heartbeatId !== heartbeatId) taken = { heartbeatId, window: unshipped, at: now() };
      return taken.window;
    },
    /** Marks the window of an accepted heartbeat as shipped. */
    confirm: (heartbeatId: string): void => {
      if (taken?.heartbeatId !== heartbeatId) return;
      unshipped = subtractWindow(unshipped, taken.window, taken.at);
      taken = null;
    },
    /** Totals of the current UTC day; cost only if a price is known. */
    totals: (): UsageTotals => totalsToday(day, now(), price),
  };
}

/** Uses the bounds of the sidecar's `model` events. A larger count is a mistake and would falsify the whole window. */
function problemOf(call: Readonly<Record<keyof Call, unknown>>): string | null {
  if (typeof call.modelId !== 'string' || call.modelId.trim() === '')
    return 'modelId must be a non-empty string';
  for (const name of ['promptTokens', 'completionTokens'] as const)
    if (!isCount(call[name])) return `${name} must be a whole number from 0 to ${MAX_TOKENS}`;
  return null;
}

const isCount = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS;
