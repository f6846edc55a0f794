import type { AuditEntry, BehavioralEvent } from './audit-entry.ts';
import { totalOf } from '../usage/answer-usage.ts';
import type { CallSum, ModelCall, RingUsageReport } from '../usage/usage.ts';
import { addCalls, emptyWindow } from '../usage/usage-window.ts';

/** Calls of an entry: read from its response or reported by its `model` events, whichever total is larger; never both. */
export function callsOf(entry: AuditEntry): readonly ModelCall[] {
  const { calls } = sourceOf(entry);
  return calls;
}

/** Number of calls of an entry whose usage is unknown. */
export function callsWithoutUsageOf(entry: AuditEntry): number {
  const { usage } = entry;
  if (usage === undefined) return 0;
  const { calls, isReported } = sourceOf(entry);
  if ('unavailable' in usage) return calls.length === 0 ? 1 : 0;
  // If the events report more than the response, the events also cover the calls without usage.
  return isReported ? 0 : (usage.callsWithoutUsage ?? 0);
}

/**
 * Calls that late events add to the totals. Nothing is added while the request is in flight, because its completion counts
 * the whole entry. If the events report more than the response, the difference counts for the model of the last event.
 */
export function lateCallsOf(before: AuditEntry, after: AuditEntry): readonly ModelCall[] {
  if (before.outcome === undefined) return [];
  const [counted, now] = [sourceOf(before), sourceOf(after)];
  if (!now.isReported) return [];
  if (counted.isReported || counted.calls.length === 0) return now.calls.slice(counted.calls.length);
  const [known, reported] = [totalOf(counted.calls), totalOf(now.calls)];
  const totalTokens = reported.totalTokens - known.totalTokens;
  const promptTokens = Math.min(totalTokens, Math.max(0, reported.promptTokens - known.promptTokens));
  const { modelId } = now.calls.at(-1) ?? reported;
  return [{ modelId, promptTokens, completionTokens: totalTokens - promptTokens, totalTokens }];
}

function sourceOf(entry: AuditEntry): { calls: readonly ModelCall[]; isReported: boolean } {
  const [read, reported] = [callsRead(entry), callsIn(entry.events ?? [])];
  const isReported = totalOf(reported).totalTokens > totalOf(read).totalTokens;
  return { calls: isReported ? reported : read, isReported };
}

function callsRead({ usage }: AuditEntry): readonly ModelCall[] {
  if (usage === undefined || 'unavailable' in usage) return [];
  return usage.calls ?? [usage];
}

/** The calls that `model` events report. */
export function callsIn(events: readonly BehavioralEvent[]): ModelCall[] {
  return events
    .filter((event) => event.type === 'model')
    .map(({ modelId, promptTokens, completionTokens }) => ({
      modelId,
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
    }));
}

/**
 * `GET /usage` from the audit ring. A response with unknown usage is counted separately, never as 0 tokens.
 * @param withoutRequest calls without an entry
 */
export function ringUsageReport(entries: readonly AuditEntry[], withoutRequest: CallSum): RingUsageReport {
  const calls = entries.map(callsOf);
  const totals = addCalls(emptyWindow(''), calls.flat());
  return {
    source: 'audit-ring',
    models: totals.models.map(({ modelId, totalTokens, callCount }) => ({ modelId, totalTokens, callCount })),
    totalTokens: totals.totalTokens,
    totalCalls: totals.totalCalls,
    sampleSize: calls.filter((ofEntry) => ofEntry.length > 0).length,
    callsWithoutUsage: entries.reduce((sum, entry) => sum + callsWithoutUsageOf(entry), 0),
    ...(withoutRequest.totalCalls > 0 && { withoutRequest }),
  };
}
