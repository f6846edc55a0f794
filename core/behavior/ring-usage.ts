import type { AuditEntry } from './audit-entry.ts';
import { callsOf, callsWithoutUsageOf } from './entry-usage.ts';
import type { CallSum, RingUsageReport } from '../usage/usage.ts';
import { addCalls, emptyWindow } from '../usage/usage-window.ts';

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
