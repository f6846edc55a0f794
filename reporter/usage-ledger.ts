import { addToDay, emptyDay, totalsToday, type TokenPrice } from '../core/usage/day-totals.ts';
import type { AgentUsageReport, UsageTotals, UsageWindow } from '../core/usage/usage.ts';
import { addCalls, emptyWindow, subtractWindow } from '../core/usage/usage-window.ts';

/**
 * Counts tokens between two heartbeats. A window that was handed out is kept until it is confirmed: a repeat of the
 * same heartbeat ships the same counts, and a heartbeat that never arrived loses none.
 */
export interface UsageLedger {
  /** false: not counted, since a count is not a whole number from 0 on, or there is no model id. */
  record(modelId: string, promptTokens: number, completionTokens: number): boolean;
  /** What has not been shipped yet. */
  report(): AgentUsageReport;
  /** The window for one heartbeat; the same for the same id. */
  take(heartbeatId: string): UsageWindow;
  /** The heartbeat was accepted: its window is shipped. */
  confirm(heartbeatId: string): void;
  /** Of the current UTC day; cost only where a price is known. */
  totals(): UsageTotals;
}

const MAX_MODEL_ID = 200;

export function createUsageLedger(now: () => Date, price?: TokenPrice): UsageLedger {
  let unshipped = emptyWindow(now().toISOString());
  let day = emptyDay(now());
  let taken: { heartbeatId: string; window: UsageWindow; at: Date } | null = null;
  return {
    record: (modelId, promptTokens, completionTokens) => {
      if (typeof modelId !== 'string' || modelId === '') return false;
      if (!isCount(promptTokens) || !isCount(completionTokens)) return false;
      const totalTokens = promptTokens + completionTokens;
      const calls = [
        { modelId: modelId.slice(0, MAX_MODEL_ID), promptTokens, completionTokens, totalTokens },
      ];
      unshipped = addCalls(unshipped, calls);
      day = addToDay(day, calls, now());
      return true;
    },
    report: () => ({ source: 'agent-sdk', ...unshipped }),
    take: (heartbeatId) => {
      // A window of another heartbeat that nobody confirmed is part of what is unshipped: it goes out again with this one.
      if (taken?.heartbeatId !== heartbeatId) taken = { heartbeatId, window: unshipped, at: now() };
      return taken.window;
    },
    confirm: (heartbeatId) => {
      if (taken?.heartbeatId !== heartbeatId) return;
      unshipped = subtractWindow(unshipped, taken.window, taken.at);
      taken = null;
    },
    totals: () => totalsToday(day, now(), price),
  };
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
