import { addToDay, emptyDay, totalsToday, type TokenPrice } from '../core/usage/day-totals.ts';
import { MAX_TOKENS } from '../core/usage/token-counts.ts';
import type { AgentUsageReport, UsageTotals, UsageWindow } from '../core/usage/usage.ts';
import { cut } from '../core/untrusted/fields.ts';
import { addCalls, emptyWindow, subtractWindow } from '../core/usage/usage-window.ts';

/**
 * Counts tokens between two heartbeats. A window that was handed out is kept until it is confirmed: a repeat of the
 * same heartbeat ships the same counts, and a heartbeat that never arrived loses none.
 */
export interface UsageLedger {
  /** The call as it is counted, or why nothing of it is. Never throws. */
  record(modelId: string, promptTokens: number, completionTokens: number): Recorded;
  /** What has not been shipped yet. */
  report(): AgentUsageReport;
  /** The window for one heartbeat; the same for the same id. */
  take(heartbeatId: string): UsageWindow;
  /** The heartbeat was accepted: its window is shipped. */
  confirm(heartbeatId: string): void;
  /** Of the current UTC day; cost only where a price is known. */
  totals(): UsageTotals;
}

export type Recorded =
  | { ok: true; call: { modelId: string; promptTokens: number; completionTokens: number } }
  | { ok: false; reason: string };

const MAX_MODEL_ID = 200;

export function createUsageLedger(now: () => Date, price?: TokenPrice): UsageLedger {
  let unshipped = emptyWindow(now().toISOString());
  let day = emptyDay(now());
  let taken: { heartbeatId: string; window: UsageWindow; at: Date } | null = null;
  return {
    record: (modelId, promptTokens, completionTokens) => {
      const reason = problemOf({ modelId, promptTokens, completionTokens });
      if (reason !== null) return { ok: false, reason };
      const call = { modelId: cut(modelId, MAX_MODEL_ID), promptTokens, completionTokens };
      const calls = [{ ...call, totalTokens: promptTokens + completionTokens }];
      unshipped = addCalls(unshipped, calls);
      day = addToDay(day, calls, now());
      return { ok: true, call };
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

/** The bounds of a sidecar's `model` events: a count beyond them is a mistake, and would spoil a whole window. */
function problemOf(
  call: Readonly<Record<'modelId' | 'promptTokens' | 'completionTokens', unknown>>,
): string | null {
  if (typeof call.modelId !== 'string' || call.modelId.trim() === '')
    return 'modelId must be a non-empty string';
  for (const name of ['promptTokens', 'completionTokens'] as const)
    if (!isCount(call[name])) return `${name} must be a whole number from 0 to ${MAX_TOKENS}`;
  return null;
}

const isCount = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS;
