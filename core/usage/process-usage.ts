import type { ShownUsageReport } from '../shapes/sidecar-reports.ts';
import type { AgentUsageReport, ModelUsage, UsageWindow } from '../shapes/usage.ts';

/**
 * The report of an agent is that of the process that responded. All worker processes send their `model` events to the sidecar, and a
 * restart of a process keeps them, so the events count if they have more tokens.
 */
export function agentUsage(
  report: AgentUsageReport,
  events: UsageWindow,
  costOf: (models: readonly ModelUsage[]) => number | null,
): ShownUsageReport {
  const { source, totalTokens, totalCalls } = report;
  return events.totalTokens <= totalTokens
    ? { ...report, costUsd: costOf(report.models) }
    : { source, ...events, costUsd: costOf(events.models), processReport: { totalTokens, totalCalls } };
}
