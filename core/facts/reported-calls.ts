import type { ReportedCalls } from './egress-facts.ts';
import { REQUESTED_MODEL, REQUESTED_ID } from '../shapes/hidden-members.ts';
import type { UsageWindow } from '../shapes/usage.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import { reportedCallsOf } from '../behavior/entry-usage.ts';

/** The tools and models that the agent itself reports in the entries of the audit ring. */
export function reportedCallsIn(
  entries: readonly Pick<AuditEntry, 'toolsCalled' | 'usage' | 'events'>[],
): ReportedCalls {
  let tools: Set<string> | null = null;
  const models = new Set<string>();
  const requestedModels = new Set<string>();
  for (const { toolsCalled, usage, events = [] } of entries) {
    // An empty list is a report, too.
    if (toolsCalled !== undefined) tools ??= new Set();
    for (const name of toolsCalled ?? []) tools?.add(name);
    if (usage !== undefined && !('unavailable' in usage))
      for (const { modelId, [REQUESTED_MODEL]: isRequested } of usage.calls ?? [usage])
        (isRequested ? requestedModels : models).add(modelId);
    for (const event of events) if (event.type === 'model') models.add(event[REQUESTED_ID] ?? event.modelId);
  }
  const reported = { tools, models: models.size === 0 ? null : models };
  return requestedModels.size === 0 ? reported : { ...reported, requestedModels };
}

/**
 * The number of model calls that the agent reports, by model id: for requests and without a request, or in its own usage report, which
 * counts the same calls.
 */
export function reportedCountsOf(
  entries: readonly AuditEntry[],
  withoutRequest: UsageWindow,
  ofProcess: ReadonlyMap<string, number>,
): Map<string, number> {
  const counts = new Map(withoutRequest.models.map(({ modelId, callCount }) => [modelId, callCount]));
  for (const entry of entries)
    for (const { modelId } of reportedCallsOf(entry)) counts.set(modelId, (counts.get(modelId) ?? 0) + 1);
  for (const [modelId, count] of ofProcess) counts.set(modelId, Math.max(count, counts.get(modelId) ?? 0));
  return counts;
}
